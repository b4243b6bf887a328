#!/usr/bin/env python3
"""Counts the machine instructions that ptxas makes of the kernels of examples/ and validation/, by class.

Needs a CUDA 13 toolkit: $CUDA_HOME/bin/ptxas and cuobjdump, or both on the PATH. Writes counts.csv.

Loops are kept rolled (a pragma is put at the target of every backward branch), so that a block of the PTX is comparable
with one of the machine code. Routines for operands out of range lie behind the code of a kernel; they and the blocks
that call them are left out, as is the padding.
"""

import collections
import csv
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
CUDA = os.environ.get("CUDA_HOME")
TARGETS = ["75", "80", "90"]

# Families of opcodes by class; the first part of an opcode decides unless `by_form` does.
FAMILIES = {
    "fp32": "FADD FMUL FFMA FSWZADD FFMA32I FMUL32I FADD32I",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "fp16": "HADD2 HMUL2 HFMA2 HSETP2 HMNMX2",
    "sfu": "MUFU FCHK",
    "convert": "I2F F2I F2F I2I FRND POPC FLO BREV",
    "int": "FMNMX FSETP FSEL FSET IADD3 IADD LOP3 SHF LEA ISETP SEL PRMT IMNMX VIADD VIMNMX IABS PLOP3 P2R R2P BMSK SGXT VABSDIFF ISET I2FP F2FP I2IP",
    "int_mul": "IMAD IMUL IDP",
    "move": "MOV S2R CS2R S2UR LDC",
    "load": "LDG LDS LD LDL LDSM",
    "store": "STG STS ST STL",
    "atomic": "ATOM ATOMG ATOMS RED REDG",
    "shuffle": "SHFL",
    "vote": "VOTE VOTEU MATCH REDUX",
    "barrier": "BAR",
    "fence": "MEMBAR FENCE ERRBAR CCTL DEPBAR",
    "control": "BRA EXIT RET CALL BSSY BSYNC WARPSYNC BRX BREAK BMOV YIELD NOP",
    "tensor": "HMMA IMMA DMMA",
}
CLASS = {opcode: name for name, opcodes in FAMILIES.items() for opcode in opcodes.split()}


def by_form(opcode, text):
    """Copies, shifts and sums that run on the multiplier; loads of constants by index."""
    if opcode.startswith(("IMAD.MOV", "IMAD.U32")) or opcode.startswith("HFMA2") and "-RZ, RZ" in text:
        return "move"
    if opcode.startswith("LDC") and re.search(r"\[R\d", text):
        return "load"
    if opcode.startswith(("IMAD.SHL", "IMAD.IADD", "IMAD.X")):
        return "int"
    return None


def classify(text):
    opcode = re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]
    family = opcode.split(".")[0]
    found = by_form(opcode, text) or CLASS.get(family)
    if found is None and (family.startswith("U") or family == "R2UR"):
        found = "uniform"
    if found is None:
        raise SystemExit(f"unknown opcode {opcode}")
    return found


def tool(name):
    return str(pathlib.Path(CUDA) / "bin" / name) if CUDA else name


def stay_rolled(ptx):
    lines = ptx.split("\n")
    labels = {}
    for number, line in enumerate(lines):
        if found := re.match(r"(\$?[\w$]+):", line):
            labels[found.group(1)] = number
    heads = set()
    for number, line in enumerate(lines):
        found = re.search(r"\bbra(?:\.uni)?\s+(\$?[\w$]+)\s*;", line)
        if found and labels.get(found.group(1), number + 1) <= number:
            heads.add(labels[found.group(1)])
    marked = [line + '\n\t.pragma "nounroll";' if number in heads else line for number, line in enumerate(lines)]
    return "\n".join(marked)


def functions(listing):
    name, found = None, {}
    for line in listing.split("\n"):
        if head := re.match(r"\s*Function : (\S+)", line):
            name = head.group(1)
            found[name] = []
        elif name and (inst := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line)):
            found[name].append((int(inst.group(1), 16), inst.group(2)))
    return found


def main_path(insts):
    calls, starts = [], {insts[0][0]}
    for number, (_, text) in enumerate(insts):
        jump = re.search(r"\b(BRA|CALL\.REL\.NOINC|BRX|RET\S*|EXIT)\b", text)
        if not jump:
            continue
        if number + 1 < len(insts):
            starts.add(insts[number + 1][0])
        target = re.search(r"0x([0-9a-f]+)\s*\)?$", text)
        if target and not jump.group(1).startswith("RET"):
            starts.add(int(target.group(1), 16))
            if jump.group(1).startswith("CALL"):
                calls.append(int(target.group(1), 16))
    blocks = []
    for address, text in insts:
        if address in starts:
            blocks.append([])
        blocks[-1].append((address, text))
    first = min(calls, default=1 << 60)
    kept = [block for block in blocks if block[0][0] < first and not any("CALL.REL" in text for _, text in block)]
    flat = [inst for block in kept for inst in block]
    while flat and (flat[-1][1].startswith("NOP") or flat[-1][1] == f"BRA 0x{flat[-1][0]:x}"):
        flat.pop()
    return [text for _, text in flat]


def inputs():
    for target in TARGETS:
        for path in sorted(ROOT.glob(f"examples/*/ptx/sm_{target}.ptx")):
            yield target, path
        for path in sorted(ROOT.glob(f"validation/*/sm_{target}.ptx")):
            yield target, path


def main():
    version = subprocess.run([tool("ptxas"), "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"V([\d.]+)", version).group(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = pathlib.Path(folder) / "a.ptx", pathlib.Path(folder) / "a.cubin"
        for target, path in inputs():
            ptx.write_text(stay_rolled(path.read_text()))
            subprocess.run([tool("ptxas"), f"-arch=sm_{target}", "-o", cubin, ptx], check=True)
            dump = subprocess.run([tool("cuobjdump"), "-sass", cubin], capture_output=True, text=True, check=True)
            for kernel, insts in functions(dump.stdout).items():
                counts = collections.Counter(classify(text) for text in main_path(insts))
                for name, count in sorted(counts.items()):
                    rows.append([path.relative_to(ROOT), kernel, target, name, count, version])
    with open(HERE / "counts.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ptx", "kernel", "target", "class", "count", "ptxas"])
        writer.writerows(rows)


main()
