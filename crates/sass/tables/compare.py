#!/usr/bin/env python3
"""Compares the listings of `warplens dev disasm` with those of cuobjdump, instruction by instruction.

    compare.py --warplens target/release/warplens --tools DIRECTORY CUBIN...

Prints per chip: files, instructions, those whose text differs; then each text that differs once, with how often it does.
cuobjdump and nvdisasm come from the pip packages that `solve.py` names.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess

THEIRS = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s+/\*")
THEIR_FUNCTION = re.compile(r"^\s+Function : (\S+)")
OURS = re.compile(r"^  ([0-9a-f]{4,})  [-0-9]{6}:R\S*  (.*)$")
OUR_FUNCTION = re.compile(r"^(\S+) sm_(\d+)")


def listing(command, function, instruction):
    """By function and address: the text."""
    ran = subprocess.run(command, capture_output=True, text=True)
    found, name = {}, None
    for line in ran.stdout.splitlines():
        head = function.match(line)
        if head:
            name = head.group(1)
            continue
        match = instruction.match(line)
        if match:
            # cuobjdump writes a blank behind some special floats.
            found[name, int(match.group(1), 16)] = match.group(2).replace(" ,", ",")
    return found, ran.stdout


def compare(job):
    warplens, tools, path = job
    theirs, text = listing([f"{tools}/cuobjdump", "-sass", path], THEIR_FUNCTION, THEIRS)
    ours, _ = listing([warplens, "dev", "disasm", path], OUR_FUNCTION, OURS)
    target = re.search(r"code for (sm_\d+)", text)
    different = [(theirs[key], ours.get(key, "(missing)")) for key in theirs if theirs[key] != ours.get(key)]
    return target.group(1) if target else "?", len(theirs), different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warplens", required=True)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("cubins", nargs="+")
    arguments = parser.parse_args()
    jobs = [(arguments.warplens, arguments.tools, path) for path in arguments.cubins]
    files, instructions = collections.Counter(), collections.Counter()
    wrong = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for target, n, different in pool.map(compare, jobs):
            files[target] += 1
            instructions[target] += n
            wrong[target].update(different)
    for target in sorted(files):
        n_wrong = sum(wrong[target].values())
        share = 100 - 100 * n_wrong / max(instructions[target], 1)
        print(f"{target}: {files[target]} files, {instructions[target]} instructions, {n_wrong} differ: {share:.3f} % equal")
    for target in sorted(wrong):
        for (theirs, ours), n in wrong[target].most_common():
            print(f"{target} {n}: {theirs} | {ours}")


if __name__ == "__main__":
    main()
