"""What a kernel of the suite is launched with, and what it must leave: plain data, and its way to a launch file."""

import dataclasses
import pathlib

import numpy as np

TYPES = {
    "uint8": "u8", "int8": "s8", "uint16": "u16", "int16": "s16", "uint32": "u32", "int32": "s32",
    "uint64": "u64", "int64": "s64", "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip


@dataclasses.dataclass
class At:
    """An address inside of an array that another argument brings."""

    array: np.ndarray
    offset: int


@dataclasses.dataclass
class Object:
    """A texture, a surface or a tensor map over an array, with its settings as a launch file has them."""

    word: str
    array: np.ndarray
    settings: str


def tensor_map(array, box, swizzle=0, element=None, extents=None):
    """A dense tensor; `box` and `extents` begin with the dimension that is dense in memory."""
    extents = extents or array.shape[::-1]
    element = element or TYPES[array.dtype.name]
    lists = "extents({}),box({})".format(*(",".join(map(str, sizes)) for sizes in (extents, box)))
    return Object("tensormap", array, f"{element},{lists},swizzle({swizzle})")


@dataclasses.dataclass
class Launch:
    kernel: str
    grid: tuple
    block: tuple
    args: list
    shared: int = 0
    cluster: tuple = ()
    symbols: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Expectation:
    """What an array, or a variable by its name, holds afterwards.

    `view` makes of the elements what is compared. Without a bound the elements must be equal; with one, the error may
    be `absolute + relative * |expected|`, where both may be arrays. A bound has a reason.
    """

    of: object
    wanted: np.ndarray
    absolute: object = 0
    relative: object = 0
    why: str = ""
    view: object = None

    def __post_init__(self):
        bounded = np.any(self.absolute) or np.any(self.relative)
        assert bool(bounded) == bool(self.why), "a bound has a reason, and only a bound has one"

    def fault(self, found):
        """Why what was found is wrong, or None."""
        found = self.view(found) if self.view else found
        wanted = np.asarray(self.wanted)
        if found.size != wanted.size:
            return f"{found.size} elements instead of {wanted.size}"
        found = found.reshape(wanted.shape)
        if wanted.dtype.kind != "f":
            wrong = found != wanted
        else:
            wide, expected = found.astype(np.float64), wanted.astype(np.float64)
            with np.errstate(invalid="ignore"):
                near = np.abs(wide - expected) <= self.absolute + self.relative * np.abs(expected)
            near &= np.isfinite(expected)
            wrong = ~(near | (wide == expected) | (np.isnan(wide) & np.isnan(expected)))
        if not wrong.any():
            return None
        first = np.argwhere(wrong)[0]
        place = ", ".join(map(str, first))
        return (
            f"{wrong.sum()} of {wrong.size} wrong, [{place}] is {found[tuple(first)]} instead of {wanted[tuple(first)]}"
        )


def equal(of, wanted, view=None):
    """Every element is exactly this."""
    return Expectation(of, wanted, view=view)


def near(of, wanted, why, absolute=0, relative=0, view=None):
    """Every element is this but for an error that has a reason."""
    return Expectation(of, wanted, absolute, relative, why, view)


@dataclasses.dataclass
class Case:
    launches: list
    expectations: list
    stdout: str = ""
    flags: tuple = ()

    def write(self, folder):
        """Writes the launch file and its arrays; the keys of `--save` for the arrays that are compared come back."""
        folder.mkdir(parents=True, exist_ok=True)
        brought, keys, tables = {}, {}, []
        wanted = [e.of for e in self.expectations]
        seen = set()
        for number, launch in enumerate(self.launches):
            args = []
            for index, value in enumerate(launch.args):
                text, array = self.argument(folder, value, brought, (number, index))
                args.append(text)
                # A parameter's name stands for the first launch of its kernel.
                if array is not None and id(array) not in keys and launch.kernel not in seen:
                    keys[id(array)] = f"{launch.kernel}_param_{index}"
            seen.add(launch.kernel)
            tables.append(self.table(launch, args, folder, number))
        (folder / "launch.toml").write_text("\n".join(tables))
        for of in wanted:
            assert isinstance(of, str) or id(of) in keys, (
                "an array that is compared stands in its kernel's first launch"
            )
        return [of if isinstance(of, str) else keys[id(of)] for of in wanted]

    @staticmethod
    def argument(folder, value, brought, place):
        """The text of an argument, and the array whose buffer it is or shows."""
        if value is None:
            return '"none"', None
        if isinstance(value, str):
            return f'"{value}"', None
        if isinstance(value, np.ndarray):
            return f'"{Case.buffer(folder, value, brought, place)}"', value
        if isinstance(value, At):
            return f'"{reference(brought[id(value.array)])}+{value.offset}"', None
        if isinstance(value, Object):
            return f'"{value.word}({Case.buffer(folder, value.array, brought, place)}, {value.settings})"', value.array
        if isinstance(value, (float, np.floating)):
            return f'"{float(value)!r}"', None
        return str(int(value)), None

    @staticmethod
    def buffer(folder, array, brought, place):
        if id(array) in brought:
            return reference(brought[id(array)])
        brought[id(array)] = place
        kind = TYPES[array.dtype.name]
        if not array.any():
            return f"{kind}[{array.size}]"
        name = "{}-{}.npy".format(*place)
        np.save(folder / name, np.ascontiguousarray(array))
        return f"{kind}[]:file({name})"

    @staticmethod
    def table(launch, args, folder, number):
        axes = lambda sizes: str(list(np.atleast_1d(sizes)[:3].tolist()))
        lines = [
            "[[launch]]",
            f'kernel = "{launch.kernel}"',
            f"grid = {axes(launch.grid)}",
            f"block = {axes(launch.block)}",
        ]
        if launch.shared:
            lines.append(f"shared = {launch.shared}")
        if launch.cluster:
            lines.append(f"cluster = {axes(launch.cluster)}")
        lines += ["args = ["] + [f"    {arg}," for arg in args] + ["]"]
        if launch.symbols:
            lines += ["[launch.symbols]"]
            for name, array in launch.symbols.items():
                file = f"{number}-{name}.npy"
                np.save(folder / file, np.ascontiguousarray(array))
                lines.append(f'{name} = "{TYPES[array.dtype.name]}[]:file({file})"')
        return "\n".join(lines) + "\n"


def reference(place):
    return "&{}.{}".format(*place)


@dataclasses.dataclass
class Kernel:
    """A kernel of the suite: where it is from, what it is there for, and its case at two sizes."""

    name: str
    compiler: str
    source: str
    feature: str
    targets: tuple
    make: object
    committed: str = ""

    def case(self, full, target):
        return self.make(Size(full, target))


@dataclasses.dataclass
class Size:
    """Picks the size of a full run, or of the one that the tests have time for."""

    full: bool
    target: str

    def __call__(self, full, small):
        return full if self.full else small


KERNELS = []


def kernel(compiler, source, feature, targets, committed=""):
    """Adds the function's kernel to the suite; `committed` is the target whose PTX the tests have."""

    def add(make):
        KERNELS.append(Kernel(make.__name__, compiler, source, feature, tuple(targets.split()), make, committed))
        return make

    return add


HERE = pathlib.Path(__file__).resolve().parent
