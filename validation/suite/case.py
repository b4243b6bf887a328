"""What a kernel of the suite is launched with, and what it must leave: plain data, and its way to a launch file."""

import dataclasses
import pathlib

import numpy as np

TYPES = {
    "uint8": "u8", "int8": "s8", "uint16": "u16", "int16": "s16", "uint32": "u32", "int32": "s32",
    "uint64": "u64", "int64": "s64", "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip


@dataclasses.dataclass
class Object:
    """A texture, a surface or a tensor map over an array, with its settings as a launch file has them."""

    word: str
    array: np.ndarray
    settings: str


@dataclasses.dataclass
class Given:
    """An array with the text that makes it in a launch file, so that no file is needed."""

    array: np.ndarray
    text: str


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
        """Writes the launch file and its arrays; the keys of `--save` for what is compared come back."""
        folder.mkdir(parents=True, exist_ok=True)

        def saved(array, name):
            np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
            return f"file({name}.npy)"

        text, brought = self.launch_file(saved)
        (folder / "launch.toml").write_text(text)
        found = [expectation.of for expectation in self.expectations]
        return [of if isinstance(of, str) else "{}.{}".format(*brought[id(of)]) for of in found]

    def launch_file(self, content):
        """The text, and which argument of which launch brings an array; `content` says what an array holds."""
        brought, lines = {}, []

        def buffer(array, place, text=None):
            if id(array) in brought:
                return "&{}.{}".format(*brought[id(array)])
            brought[id(array)] = place
            return text or of_type(array, content, "{}-{}".format(*place))

        for number, launch in enumerate(self.launches):
            lines += ["[[launch]]", f'kernel = "{launch.kernel}"']
            for key in ("grid", "block", "cluster"):
                if np.size(getattr(launch, key)):
                    lines.append(f"{key} = {np.atleast_1d(getattr(launch, key)).tolist()}")
            if launch.shared:
                lines.append(f"shared = {launch.shared}")
            lines.append("args = [")
            for index, value in enumerate(launch.args):
                lines.append(f"    {argument(value, lambda *given: buffer(given[0], (number, index), *given[1:]))},")
            lines.append("]")
            if launch.symbols:
                lines.append("[launch.symbols]")
                for name, array in launch.symbols.items():
                    lines.append(f'{name} = "{of_type(array, content, f"{number}-{name}")}"')
            lines.append("")
        return "\n".join(lines), brought


def of_type(array, content, name):
    """An array as a launch file has it."""
    kind = TYPES[array.dtype.name]
    return f"{kind}[]:{content(array, name)}" if array.any() else f"{kind}[{array.size}]"


def argument(value, buffer):
    """The text of an argument; `buffer` gives that of an array."""
    if value is None:
        return '"none"'
    if isinstance(value, np.ndarray):
        return f'"{buffer(value)}"'
    if isinstance(value, Given):
        return f'"{buffer(value.array, value.text)}"'
    if isinstance(value, Object):
        return f'"{value.word}({buffer(value.array)}, {value.settings})"'
    if isinstance(value, (float, np.floating)):
        return f'"{float(value)!r}"'
    return str(int(value))


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
