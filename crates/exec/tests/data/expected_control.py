"""Expected results of the control-flow kernels: branches, loops, calls, recursion, predicates, barriers, waiting."""

import random

from case import Case
from exact import f32, signed, unsigned


def c_div(x, y):
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def switch_table():
    case = Case("switch_table", "An indirect branch through a table.")
    selector = [i % 12 - 1 for i in range(32)]
    value = [i * 37 - 300 for i in range(32)]
    ways = {
        0: lambda v: v + 11, 1: lambda v: v * v, 2: lambda v: c_div(v, 3), 3: lambda v: v ^ 0x55,
        4: lambda v: unsigned(v).bit_count(), 5: lambda v: -v, 6: lambda v: (v << 4) - 1000, 7: lambda v: v - 1000,
        8: lambda v: v - c_div(v, 7) * 7, 9: lambda v: int(f"{unsigned(v):032b}"[::-1], 2),
    }
    case.values("s32", selector), case.values("s32", value)
    out = case.out("s32", 33)
    case.expect(out, [signed(ways.get(s, lambda v: -1)(v)) for s, v in zip(selector, value)] + [77])
    return case


def recursion():
    def ackermann(m, n):
        return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))

    case = Case("recursion", "Recursive calls of different depth per lane.")
    fibonacci, factorial = [0, 1], [1]
    for i in range(2, 13):
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    for i in range(1, 13):
        factorial.append(factorial[-1] * i)
    out = case.out("u32", 96)
    case.rows(out, [
        ("ackermann", [ackermann(i % 3, i // 3 % 4) for i in range(32)]),
        ("fibonacci", [fibonacci[i % 12] for i in range(32)]),
        ("factorial", [factorial[i % 13] for i in range(32)]),
    ])
    return case


def function_pointer():
    case = Case("function_pointer", "Calls through a table of function pointers.")
    which = [(i * 7) % 4 for i in range(32)]
    a, b = [i * 3 - 40 for i in range(32)], [50 - i * 2 for i in range(32)]
    ways = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, max]
    for v in (which, a, b):
        case.values("s32", v)
    out = case.out("s32", 32)
    case.expect(out, [ways[w](x, y) for w, x, y in zip(which, a, b)])
    return case


def calls():
    case = Case("calls", "Calls with several parameters and a structure as result.")
    a, b = [i * 1000003 % 65537 - 30000 for i in range(32)], [i - 16 or 5 for i in range(32)]
    case.values("s32", a), case.values("s32", b)
    quotient, product, ratio, total = case.out("s32", 32), case.out("s64", 32), case.out("f32", 32), case.out("s32", 32)
    case.expect(quotient, [c_div(x, y) for x, y in zip(a, b)], what="quotient")
    case.expect(product, [x * y + i * 100 for i, (x, y) in enumerate(zip(a, b))], what="product")
    case.expect(ratio, [f32(x / y) for x, y in zip(a, b)], what="ratio")
    case.expect(total, [i + (a[i] if i % 3 == 1 else 0) + 1000 for i in range(32)], what="total")
    return case


def divergence_loop():
    case = Case("divergence_loop", "Collatz sequences: a trip count per lane.", block=64, grid=3)
    steps, peaks = [], []
    for start in range(1, 193):
        v, top, count = start, start, 0
        while v != 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            top, count = max(top, v), count + 1
        steps.append(count), peaks.append(top)
    case.expect(case.out("s32", 192), steps, what="steps")
    case.expect(case.out("u32", 192), peaks, what="peak")
    return case


def divergence_nested():
    def lane_value(lane):
        v = 0
        for i in range(8):
            if lane >> (i % 5) & 1:
                if i == 3:
                    continue
                for j in range(lane % 4):
                    if j * i > lane:
                        break
                    v += j + 1
            elif lane % 7 == i:
                v += 100
                if lane > 20:
                    break
            else:
                v -= i
            v = v * 3 + i
            if v > 5000:
                v -= 5000
        return v

    case = Case("divergence_nested", "Nested branches with continue and break.")
    values = [lane_value(i) for i in range(32)]
    case.expect(case.out("s32", 32), values)
    case.expect(case.out("s32", 32), [sum(values)] * 32, what="sum of the warp")
    return case


def early_return():
    case = Case("early_return", "Threads that leave before a barrier and a ballot.", block=96)
    case.expect(case.out("s32", 96), [(63 - t) ** 2 if t < 64 and t % 2 == 0 else -1 for t in range(96)])
    case.expect(case.out("u32", 1), [sum(1 << t for t in range(0, 32, 4))], what="ballot")
    case.expect(case.out("s32", 1), [32], what="count")
    return case


def predication():
    case = Case("predication", "Guards and predicate logic.")
    rng = random.Random(71)
    a, b = [rng.randrange(-50, 50) for _ in range(32)], [rng.randrange(-50, 50) for _ in range(32)]
    b[4] = a[4]
    case.values("s32", a), case.values("s32", b)
    out = case.out("s32", 160)
    rows = [[], [], [], [], []]
    for lane, (x, y) in enumerate(zip(a, b)):
        p, q = x < y, not x < y
        r = x > 0 and q
        s = p != r
        rows[0].append(x + 100 if p else y - 100)
        rows[1].append(b[31 - lane] if r else -7)
        rows[2].append(1 if s else 2)
        rows[3].append(10 if (not s or r) and q else 20)
        rows[4].append(x if y >= 0 else y)
    names = ["guarded add and sub", "guarded load", "selp after xor", "selp after not, or, and", "slct"]
    case.rows(out, list(zip(names, rows)))
    return case


def barriers():
    case = Case("barriers", "Named barriers, arrival without waiting, reductions across a barrier.", block=96)
    case.expect(case.out("s32", 32), [sum(r * 100 + 31 - lane for r in range(4)) for lane in range(32)], what="received")
    count = sum(t % 5 == 0 for t in range(96))
    case.expect(case.out("s32", 96), [count * 100 + 0 * 10 + 1] * 96, what="popc, and, or")
    return case


def spin_lock():
    case = Case("spin_lock", "A spin lock contended within a warp and between blocks.", block=64, grid=3)
    lock, counter, tickets = case.out("s32", 1), case.out("s32", 1), case.out("s32", 192)
    case.expect(lock, [0], what="lock")
    case.expect(counter, [192], what="counter")
    case.expect(tickets, [1] * 192, what="tickets")
    return case


def flag_wait():
    case = Case("flag_wait", "Blocks that wait for later blocks.", block=32, grid=6)
    flag, value = case.out("s32", 6), case.out("s32", 6)
    case.expect(flag, [1] * 6, what="flag")
    case.expect(value, [2 ** (6 - b) - 1 for b in range(6)], what="value")
    return case


def grid_sync():
    case = Case("grid_sync", "Blocks of a cooperative launch that meet twice.", block=40, grid=5)
    n = 200
    out = [3 * ((i + 37) % n) for i in range(n)]
    case.expect(case.out("s32", n), [out[n - 1 - i] for i in range(n)], what="values")
    case.expect(case.out("s32", n), out, what="out")
    return case


def printing():
    case = Case("print", "printf: conversions, and two lanes in lane order.")
    out = case.out("s32", 32)
    case.stdout = ("int -5 unsigned 4000000000 hex 0000beef char w\n"
                   "long -1234567890123 double 2.500 string text percent %\n"
                   "lane 1\nlane 2\n")
    # printf returns the number of arguments that follow the format.
    case.expect(out, [1, 1, 1] + [0] * 29)
    return case


def clocks():
    case = Case("clocks", "Clocks that only move forward.", block=1)
    flags = case.out("s32", 4)
    case.out("f32", 1)
    case.expect(flags, [1, 1, 1, 1])
    return case


CASES = [switch_table, recursion, function_pointer, calls, divergence_loop, divergence_nested, early_return, predication,
         barriers, spin_lock, flag_wait, grid_sync, printing, clocks]
