"""Expressions of Kernel Tuner's files, evaluated without the interpreter's powers: a file is data, and runs no code."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import InputError

_Operators = dict[type[ast.AST], Callable[..., Any]]
_BINARY: _Operators = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: _Operators = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARE: _Operators = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "float": float,
    "floor": math.floor,
    "int": int,
    "len": len,
    "list": list,
    "log2": math.log2,
    "max": max,
    "min": min,
    "range": range,
    "round": round,
    "sqrt": math.sqrt,
    "sum": sum,
}
# Larger powers and lists are no space that somebody searches.
_MOST = 1 << 24


def evaluate(text: str, names: Mapping[str, Any] = {}) -> Any:
    """The value of an expression of numbers, texts, lists, and these names.

    >>> evaluate("[2**i for i in range(5, 8)]")
    [32, 64, 128]
    >>> evaluate("32 <= x * y <= 1024 and x % y == 0", {"x": 64, "y": 4})
    True
    """
    try:
        tree = ast.parse(text.strip().replace("&&", " and ").replace("||", " or "), mode="eval").body
        return _of(tree, dict(names))
    except InputError as error:
        raise InputError(f"`{text}`: {error.message}") from None
    except (SyntaxError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise InputError(f"`{text}` cannot be evaluated: {error}") from error


def whole(text: Any, names: Mapping[str, Any]) -> int:
    """A whole number, or the value of an expression, rounded up."""
    value = evaluate(text, names) if isinstance(text, str) else text
    return math.ceil(value)


def _of(node: ast.AST, names: dict[str, Any]) -> Any:
    inner = lambda child: _of(child, names)
    match node:
        case ast.Constant(value=value) if isinstance(value, (int, float, str, bool)) or value is None:
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise InputError(f"there is no `{name}` here")
        case ast.List(elts=items):
            return [inner(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(inner(item) for item in items)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(type(op), inner(left), inner(right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](inner(operand))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(inner(value) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(inner(value) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [inner(left), *map(inner, others)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, values, values[1:]))
        case ast.IfExp(test=test, body=body, orelse=other):
            return inner(body) if inner(test) else inner(other)
        case ast.Subscript(value=value, slice=place):
            return inner(value)[inner(place)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _call(name, [inner(argument) for argument in arguments])
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=tests)]):
            return _listed(element, name, inner(over), tests, names)
    raise InputError(f"`{ast.unparse(node)}` is no expression that is evaluated")


def _bounded(op: type[ast.AST], left: Any, right: Any) -> Any:
    if op in (ast.Pow, ast.LShift) and isinstance(right, int) and abs(right) > 64:
        raise InputError(f"{right} is too large a power")
    if op is ast.Mult and (isinstance(left, (str, list, tuple)) or isinstance(right, (str, list, tuple))):
        raise InputError("only numbers are multiplied")
    return _BINARY[op](left, right)


def _call(name: str, arguments: list[Any]) -> Any:
    value = _FUNCTIONS[name](*arguments)
    if isinstance(value, range) and len(value) > _MOST:
        raise InputError("the range is too long")
    return value


def _listed(element: ast.AST, name: str, over: Any, tests: Sequence[ast.AST], names: dict[str, Any]) -> list[Any]:
    listed = []
    for value in over:
        own = names | {name: value}
        if all(_of(test, own) for test in tests):
            listed.append(_of(element, own))
    return listed
