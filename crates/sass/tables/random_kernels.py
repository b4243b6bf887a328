#!/usr/bin/env python3
"""Random kernels: what their PTX leaves in memory is compared with what the machine code leaves that ptxas makes of it.

    random_kernels.py --warplens target/release/warplens --tools DIRECTORY [--seed N] [--kernels N] [--chips 75,80,...]

Each kernel is PTX of some hundred operations on integers, floats, halves and predicates, with branches, loops, shuffles and
shared memory. All operations are exact or rounded once, so that every bit has to agree. Kernels that differ are kept in the
folder of --keep. ptxas comes from the pip package that `solve.py` names.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import subprocess
import tempfile

THREADS = 64
OUTPUTS = 24
LEVELS = ["-O3", "-O1"]

INTEGER = [
    "add.s32 {d}, {a}, {b}", "sub.s32 {d}, {a}, {b}", "mul.lo.s32 {d}, {a}, {b}", "mad.lo.s32 {d}, {a}, {b}, {c}",
    "mul.hi.s32 {d}, {a}, {b}", "mul.hi.u32 {d}, {a}, {b}", "mad.hi.u32 {d}, {a}, {b}, {c}", "and.b32 {d}, {a}, {b}",
    "or.b32 {d}, {a}, {b}", "xor.b32 {d}, {a}, {b}", "not.b32 {d}, {a}", "neg.s32 {d}, {a}", "abs.s32 {d}, {a}",
    "lop3.b32 {d}, {a}, {b}, {c}, {table}", "shl.b32 {d}, {a}, {b}", "shr.u32 {d}, {a}, {b}", "shr.s32 {d}, {a}, {b}",
    "shl.b32 {d}, {a}, {small}", "shr.s32 {d}, {a}, {small}", "shf.l.wrap.b32 {d}, {a}, {b}, {c}",
    "shf.r.clamp.b32 {d}, {a}, {b}, {c}", "shf.r.wrap.b32 {d}, {a}, {b}, {small}", "min.s32 {d}, {a}, {b}",
    "max.u32 {d}, {a}, {b}", "min.u32 {d}, {a}, {b}", "popc.b32 {d}, {a}", "clz.b32 {d}, {a}", "brev.b32 {d}, {a}",
    "bfind.u32 {d}, {a}", "bfind.s32 {d}, {a}", "bfe.u32 {d}, {a}, {small}, {small}", "bfe.s32 {d}, {a}, {b}, {c}",
    "bfi.b32 {d}, {a}, {b}, {small}, {small}", "prmt.b32 {d}, {a}, {b}, {c}", "prmt.b32 {d}, {a}, {b}, {selector}",
    "sad.s32 {d}, {a}, {b}, {c}", "sad.u32 {d}, {a}, {b}, {c}", "mul24.lo.u32 {d}, {a}, {b}", "cnot.b32 {d}, {a}",
    "selp.b32 {d}, {a}, {b}, {p}", "add.s32 {d}, {a}, {immediate}", "sub.s32 {d}, {immediate}, {a}",
    "mul.lo.s32 {d}, {a}, {immediate}", "and.b32 {d}, {a}, {immediate}", "div.u32 {d}, {a}, {b}", "rem.u32 {d}, {a}, {b}",
    "div.s32 {d}, {a}, 7", "rem.s32 {d}, {a}, 10", "dp4a.s32.u32 {d}, {a}, {b}, {c}", "dp2a.lo.u32.s32 {d}, {a}, {b}, {c}",
    "add.cc.u32 {d}, {a}, {b}; addc.u32 {d}, {d}, {c}", "sub.cc.u32 {d}, {a}, {b}; subc.u32 {d}, {c}, {a}",
    "set.lt.u32.s32 {d}, {a}, {b}", "slct.b32.s32 {d}, {a}, {b}, {c}", "vabsdiff4.u32.u32.u32.add {d}, {a}, {b}, {c}",
    "add.s16x2 {d}, {a}, {b}", "max.s16x2 {d}, {a}, {b}", "min.u16x2 {d}, {a}, {b}",
]
WIDE = [
    "add.s64 {D}, {A}, {B}", "sub.s64 {D}, {A}, {B}", "mul.lo.s64 {D}, {A}, {B}", "mul.wide.u32 {D}, {a}, {b}",
    "mul.wide.s32 {D}, {a}, {b}", "mad.wide.s32 {D}, {a}, {b}, {A}", "mad.lo.s64 {D}, {A}, {B}, {C}", "and.b64 {D}, {A}, {B}",
    "xor.b64 {D}, {A}, {B}", "not.b64 {D}, {A}", "neg.s64 {D}, {A}", "abs.s64 {D}, {A}", "shl.b64 {D}, {A}, {b}",
    "shr.u64 {D}, {A}, {b}", "shr.s64 {D}, {A}, {small}", "min.s64 {D}, {A}, {B}", "max.u64 {D}, {A}, {B}",
    "mul.hi.u64 {D}, {A}, {B}", "cvt.s64.s32 {D}, {a}", "cvt.u64.u32 {D}, {a}", "mov.b64 {D}, {{{a}, {b}}}",
    "selp.b64 {D}, {A}, {B}, {p}", "brev.b64 {D}, {A}", "popc.b64 {d}, {A}", "clz.b64 {d}, {A}", "cvt.u32.u64 {d}, {A}",
    "bfe.s64 {D}, {A}, {small}, {small}", "div.u64 {D}, {A}, {B}", "rem.s64 {D}, {A}, 1000003",
]
FLOAT = [
    "add.f32 {f}, {g}, {h}", "sub.f32 {f}, {g}, {h}", "mul.f32 {f}, {g}, {h}", "fma.rn.f32 {f}, {g}, {h}, {i}",
    "add.rz.f32 {f}, {g}, {h}", "mul.rm.f32 {f}, {g}, {h}", "fma.rp.f32 {f}, {g}, {h}, {i}", "neg.f32 {f}, {g}",
    "abs.f32 {f}, {g}", "min.f32 {f}, {g}, {h}", "max.f32 {f}, {g}, {h}", "add.ftz.f32 {f}, {g}, {h}",
    "mul.ftz.f32 {f}, {g}, {h}", "fma.rn.sat.f32 {f}, {g}, {h}, {i}", "div.rn.f32 {f}, {g}, {h}", "sqrt.rn.f32 {f}, {g}",
    "rcp.rn.f32 {f}, {g}", "selp.f32 {f}, {g}, {h}, {p}", "copysign.f32 {f}, {g}, {h}", "cvt.rn.f32.s32 {f}, {a}",
    "cvt.rn.f32.u32 {f}, {a}", "cvt.rzi.s32.f32 {d}, {g}", "cvt.rni.u32.f32 {d}, {g}", "cvt.rmi.f32.f32 {f}, {g}",
    "cvt.rpi.f32.f32 {f}, {g}", "mov.b32 {d}, {g}", "mov.b32 {f}, {a}", "add.f32 {f}, {g}, 0f3FC00000",
    "mul.f32 {f}, {g}, 0fBF000000", "cvt.rn.f16x2.f32 {d}, {g}, {h}", "cvt.f64.f32 {F}, {g}", "cvt.rn.f32.f64 {f}, {G}",
    "set.gt.f32.f32 {f}, {g}, {h}", "testp.subnormal.f32 {q}, {g}", "cvt.sat.f32.f32 {f}, {g}", "cvt.rn.f32.s64 {f}, {A}",
]
DOUBLE = [
    "add.f64 {F}, {G}, {H}", "sub.f64 {F}, {G}, {H}", "mul.f64 {F}, {G}, {H}", "fma.rn.f64 {F}, {G}, {H}, {I}",
    "neg.f64 {F}, {G}", "abs.f64 {F}, {G}", "min.f64 {F}, {G}, {H}", "max.f64 {F}, {G}, {H}", "div.rn.f64 {F}, {G}, {H}",
    "sqrt.rn.f64 {F}, {G}", "rcp.rn.f64 {F}, {G}", "cvt.rn.f64.s32 {F}, {a}", "cvt.rzi.s32.f64 {d}, {G}",
    "cvt.rn.f64.s64 {F}, {A}", "cvt.rzi.s64.f64 {D}, {G}", "selp.f64 {F}, {G}, {H}, {p}", "mov.b64 {D}, {G}",
    "cvt.rmi.f64.f64 {F}, {G}", "mul.rz.f64 {F}, {G}, {H}", "add.f64 {F}, {G}, 0d3FF8000000000000",
]
HALF = [
    "add.f16x2 {d}, {a}, {b}", "mul.f16x2 {d}, {a}, {b}", "fma.rn.f16x2 {d}, {a}, {b}, {c}", "neg.f16x2 {d}, {a}",
    "abs.f16x2 {d}, {a}", "min.f16x2 {d}, {a}, {b}", "max.f16x2 {d}, {a}, {b}", "sub.f16x2 {d}, {a}, {b}",
    "fma.rn.sat.f16x2 {d}, {a}, {b}, {c}", "set.lt.f16x2.f16x2 {d}, {a}, {b}", "fma.rn.relu.f16x2 {d}, {a}, {b}, {c}",
    "fma.rn.bf16x2 {d}, {a}, {b}, {c}", "max.bf16x2 {d}, {a}, {b}",
]
PREDICATE = [
    "setp.lt.s32 {q}, {a}, {b}", "setp.ge.u32 {q}, {a}, {b}", "setp.eq.s32 {q}, {a}, {small}", "setp.lt.f32 {q}, {g}, {h}",
    "setp.neu.f32 {q}, {g}, {h}", "setp.gt.s64 {q}, {A}, {B}", "setp.leu.f64 {q}, {G}, {H}", "and.pred {q}, {p}, {r}",
    "or.pred {q}, {p}, {r}", "xor.pred {q}, {p}, {r}", "not.pred {q}, {p}", "setp.lt.and.s32 {q}, {a}, {b}, {p}",
    "setp.gt.or.f32 {q}, {g}, {h}, !{p}", "setp.ne.xor.u32 {q}|{r}, {a}, {b}, {p}",
]
WARP = [
    "shfl.sync.bfly.b32 {d}, {a}, {lane}, 31, -1", "shfl.sync.up.b32 {d}, {a}, {lane}, 0, -1",
    "shfl.sync.down.b32 {d}, {a}, {lane}, 31, -1", "shfl.sync.idx.b32 {d}, {a}, {b}, 31, -1",
    "vote.sync.ballot.b32 {d}, {p}, -1", "vote.sync.any.pred {q}, {p}, -1", "vote.sync.all.pred {q}, {p}, -1",
    "match.any.sync.b32 {d}, {a}, -1",
]
NEWER = {"f16x2.f32": 80, "min.f16": 80, "max.f16": 80, "s16x2": 90, "u16x2": 90, "bf16x2": 80, "relu": 80, "min.bf16": 80}


class Kernel:
    """PTX that one generator of random numbers makes."""

    def __init__(self, seed, chip):
        self.random = random.Random(seed)
        self.chip = chip
        self.lines, self.n_labels = [], 0

    def names(self):
        pick = lambda letter, n: f"%{letter}{self.random.randrange(n)}"
        names = {key: pick("r", 16) for key in "abcd"} | {key: pick("d", 8) for key in "ABCD"}
        names |= {key: pick("f", 8) for key in "fghi"} | {key: pick("e", 6) for key in "FGHI"}
        names |= {key: pick("p", 6) for key in "pqr"}
        while names["r"] == names["q"]:
            names["r"] = pick("p", 6)
        names["small"] = self.random.randrange(32)
        names["lane"] = self.random.randrange(1, 32)
        names["table"] = self.random.randrange(1, 255)
        names["selector"] = self.random.randrange(1 << 16)
        names["immediate"] = self.random.choice([-1, 1, 255, -65536, 0x7FFFFFFF, self.random.randrange(-1 << 31, 1 << 31)])
        return names

    def operation(self, converged):
        pools = [INTEGER, INTEGER, INTEGER, WIDE, FLOAT, FLOAT, DOUBLE, HALF, PREDICATE, PREDICATE] + ([WARP] if converged else [])
        while True:
            text = self.random.choice(self.random.choice(pools))
            if all(self.chip >= least for word, least in NEWER.items() if word in text):
                break
        names = self.names()
        guard = f"@{self.random.choice(['', '!'])}{names['r']} " if converged < 2 and self.random.random() < 0.1 else ""
        if guard and (";" in text or "sync" in text):
            guard = ""
        self.lines.append(f"  {guard}{text.format(**names)};")

    def block(self, depth, n):
        for _ in range(n):
            chance = self.random.random()
            label = self.n_labels
            if chance < 0.05 and depth < 3:
                self.n_labels += 1
                names = self.names()
                self.lines.append(f"  @{names['p']} bra ELSE{label};")
                self.block(depth + 1, self.random.randrange(2, 8))
                self.lines.append(f"  bra.uni END{label};\nELSE{label}:")
                self.block(depth + 1, self.random.randrange(1, 8))
                self.lines.append(f"END{label}:")
            elif chance < 0.07 and depth < 2:
                self.n_labels += 1
                names = self.names()
                counter = f"%c{depth}"
                self.lines.append(f"  and.b32 {counter}, {names['a']}, 7;\nLOOP{label}:")
                self.block(depth + 1, self.random.randrange(2, 8))
                self.lines.append(f"  sub.s32 {counter}, {counter}, 1;\n  setp.ge.s32 %l{depth}, {counter}, 0;\n  @%l{depth} bra LOOP{label};")
            elif chance < 0.09 and depth == 0:
                names = self.names()
                self.lines.append(
                    f"  st.shared.b32 [%s0], {names['a']};\n  bar.sync 0;\n  xor.b32 %s1, %s0, {4 * names['lane']};\n"
                    f"  ld.shared.b32 {names['d']}, [%s1];\n  bar.sync 0;"
                )
            else:
                self.operation(converged=depth == 0)

    def text(self):
        out = [
            f".version 9.0\n.target sm_{self.chip}\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{",
            "  .reg .b32 %r<16>; .reg .b32 %c<4>; .reg .b32 %s<2>; .reg .b32 %t<4>; .reg .b64 %d<8>; .reg .b64 %a<3>;",
            "  .reg .f32 %f<8>; .reg .f64 %e<6>; .reg .pred %p<6>; .reg .pred %l<4>;",
            f"  .shared .align 4 .b8 tile[{4 * THREADS}];",
            "  ld.param.u64 %a0, [data]; cvta.to.global.u64 %a0, %a0;",
            "  mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mad.lo.u32 %t3, %t1, %t2, %t0;",
            f"  mul.wide.u32 %a1, %t3, {4 * OUTPUTS}; add.u64 %a2, %a0, %a1;",
            "  mov.u32 %s1, tile; mad.lo.u32 %s0, %t0, 4, %s1;",
        ]
        for at in range(16):
            out.append(f"  ld.global.b32 %r{at}, [%a2+{4 * at}];")
        for at in range(8):
            out.append(f"  mov.b64 %d{at}, {{%r{at}, %r{at + 8}}};")
            # Floats of everyday size, some of them special.
            out.append(f"  cvt.rn.f32.s32 %f{at}, %r{at}; mul.f32 %f{at}, %f{at}, 0f{['30800000', '37800000', '00800000', '3F800000'][at % 4]};")
        for at in range(6):
            out.append(f"  cvt.rn.f64.s32 %e{at}, %r{at + 4}; setp.lt.s32 %p{at}, %r{at}, {at - 3};")
        self.block(0, self.random.randrange(60, 160))
        out += self.lines
        for at in range(16):
            out.append(f"  st.global.b32 [%a2+{4 * at}], %r{at};")
        # Not a number has no bits of its own.
        for at in range(2, 4):
            out.append(f"  testp.notanumber.f32 %p{at}, %f{at}; selp.f32 %f{at}, 0f7FC00000, %f{at}, %p{at};")
        for at in range(4):
            out.append(f"  xor.b64 %d{at}, %d{at}, %d{at + 4}; st.global.b64 [%a2+{64 + 8 * at}], %d{at};" if at < 2 else f"  mov.b32 %t0, %f{at}; st.global.b32 [%a2+{72 + 4 * at}], %t0;")
        for at in range(2):
            out.append(f"  testp.notanumber.f64 %p{at}, %e{at}; selp.f64 %e{at}, 0d7FF8000000000000, %e{at}, %p{at};")
        out.append("  mov.b64 %d0, %e0; mov.b64 %d1, %e1; xor.b64 %d0, %d0, %d1; st.global.b64 [%a2+88], %d0;")
        out.append("  ret;\n}\n")
        return "\n".join(out)


def answer(warplens, path):
    launch = ["--grid", "2", "--block", str(THREADS), "--arg", f"u32[{2 * THREADS * OUTPUTS}]:uniform(0,4294967295,5)"]
    ran = subprocess.run([warplens, "run", path, *launch, "--print", "0", "--format", "json"], capture_output=True, text=True)
    return ran.stdout if ran.returncode == 0 else f"error: {ran.stderr.strip().splitlines()[:1]}"


def compare(job):
    arguments, seed, chip = job
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / "k.ptx"
        source.write_text(Kernel(seed, chip).text())
        expected = answer(arguments.warplens, source)
        if expected.startswith("error"):
            return [(seed, chip, "", expected)]
        values = buffers(expected)
        for level in LEVELS:
            cubin = folder / f"k{level}.cubin"
            made = subprocess.run([f"{arguments.tools}/ptxas", f"-arch=sm_{chip}", level, source, "-o", cubin], capture_output=True, text=True)
            if made.returncode:
                verdicts.append((seed, chip, level, "ptxas: " + (made.stdout + made.stderr).strip().splitlines()[0]))
                continue
            got = answer(arguments.warplens, cubin)
            if got.startswith("error"):
                verdict = got
            else:
                wrong = [at for at, (a, b) in enumerate(zip(values, buffers(got))) if a != b]
                words = sorted({at % OUTPUTS for at in wrong})
                verdict = f"differs: words {words} in {len({at // OUTPUTS for at in wrong})} threads" if wrong else "equal"
                if wrong and is_equal_without_optimisation(arguments, folder, source, chip, values):
                    verdict += "; equal without optimisation"
            verdicts.append((seed, chip, level, verdict))
            if arguments.keep and verdict != "equal":
                arguments.keep.mkdir(exist_ok=True)
                (arguments.keep / f"{seed}.{chip}.ptx").write_text(source.read_text())
                (arguments.keep / f"{seed}.{chip}{level}.cubin").write_bytes(cubin.read_bytes())
    return verdicts


def is_equal_without_optimisation(arguments, folder, source, chip, values):
    """True where ptxas makes other code of the same kernel at -O0 that leaves what the PTX leaves."""
    cubin = folder / "k-O0.cubin"
    made = subprocess.run([f"{arguments.tools}/ptxas", f"-arch=sm_{chip}", "-O0", source, "-o", cubin], capture_output=True)
    got = "error" if made.returncode else answer(arguments.warplens, cubin)
    return not got.startswith("error") and buffers(got) == values


def buffers(text):
    return json.loads(text)["buffers"]["0"]["values"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warplens", required=True)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--chips", default="75,80,86,89,90,100,120")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    chips = [int(chip) for chip in arguments.chips.split(",")]
    jobs = [(arguments, seed, chip) for seed in range(arguments.seed, arguments.seed + arguments.kernels) for chip in chips]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for verdicts in pool.map(compare, jobs):
            for seed, chip, level, verdict in verdicts:
                counts[verdict.split(":")[0]] += 1
                if verdict != "equal":
                    print(f"seed {seed} sm_{chip} {level}: {verdict}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in counts.items()))


if __name__ == "__main__":
    main()
