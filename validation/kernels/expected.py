#!/usr/bin/env python3
"""Writes expected.csv: what every checked output of every case comes to, computed in NumPy.

    expected.py [PATTERN]   all kernels, or those whose name fits; the rows of others stay

A runner on a GPU has no NumPy. It compares a weighted sum of all elements, which a wrong or misplaced element changes,
and single elements. Weights and places come from SplitMix64:

- of integers the sum is that of element i times output i for seed 7, made odd, modulo 2^64, or, where the order is
  open, of the elements alone;
- of floats it is that of element i times 1 + u_i for seed 7, and `magnitude` is the same sum of absolute values;
- sampled is element (output k for seed 9) modulo the number of elements, for 16 values of k, unless the order is
  open.
"""

import csv
import fnmatch
import sys
import time

import cases
import fills
import numpy as np
import references

PATH = cases.HERE / "expected.csv"
COLUMNS = ["kernel", "size", "argument", "elements", "sum", "magnitude", "samples"]
SAMPLES = 16


def summary(row, wanted, kind):
    wanted = np.asarray(wanted).reshape(-1)
    # Whole numbers are compared as such, unless some may be wrong.
    whole = np.issubdtype(kind, np.integer) and not row.share
    total, magnitude = (0, 0) if whole else (0.0, 0.0)
    for first, length in fills.chunks(len(wanted)):
        part = wanted[first : first + length]
        if whole:
            weights = fills.splitmix(7, first, length) | np.uint64(1) if row.order else np.uint64(1)
            with np.errstate(over="ignore"):
                total += int((part.astype(np.int64).view(np.uint64) * weights).sum(dtype=np.uint64))
        else:
            weights = 1 + fills.unit(7, first, length)
            total += float((part * weights).sum())
            magnitude += float((abs(part) * weights).sum())
    places = [int(x) % len(wanted) for x in fills.splitmix(9, 0, SAMPLES)] if row.order and not row.share else []
    number = lambda value: str(int(value)) if whole else repr(float(value))
    samples = " ".join(f"{place}:{number(wanted[place])}" for place in places)
    return [len(wanted), total % 2**64 if whole else repr(total), repr(magnitude), samples]


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else "*"
    kept = {}
    if PATH.exists():
        with open(PATH) as file:
            lines = csv.reader(line for line in file if not line.startswith("#"))
            kept = {tuple(line[:3]): line for line in lines}
    found = []
    for row in cases.rows():
        keys = [(row.kernel, row.size, str(at)) for at in row.check]
        if not fnmatch.fnmatch(row.kernel, pattern):
            found += [kept[key] for key in keys if key in kept]
            continue
        start = time.monotonic()
        values = [fills.value(text) for text in row.args]
        kinds = [values[at].dtype for at in row.check]
        results = getattr(references, row.kernel)(*values)
        found += [[*key, *summary(row, result, kind)] for key, result, kind in zip(keys, results, kinds)]
        print(f"{row.kernel} {row.size}: {time.monotonic() - start:.1f} s", flush=True)
        write(found)
    write(found)


def write(found):
    with open(PATH, "w") as file:
        file.write("# Written by expected.py, which says what the columns are.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(found)


if __name__ == "__main__":
    main()
