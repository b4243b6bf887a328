"""Expected results of the memory kernels: state spaces, vectors, parameters, variables, atomics."""

import math
import random
import struct

from case import Case
from exact import bits16, bits_bf16, signed, unsigned


def struct_param():
    case = Case("struct_param", "Parameters by value.")
    flag, scale, offset, direction = -3, 1.25, [10, -20, 30], [9.0, 0.5, -6.0]
    # flag at 0, scale at 8, offset at 16, direction at 24: 40 bytes with the padding of C.
    raw = struct.pack("<b7xd3h2x3f4x", flag, scale, *offset, *direction)
    case.arg(f"bytes({raw.hex()})")
    case.arg("200")
    integers, floats = case.out("s32", 32), case.out("f32", 32)
    case.arg("1")
    case.expect(integers, [flag * 1000 + offset[i % 3] + 200 for i in range(32)])
    case.expect(floats, [scale * i + direction[1] * direction[2] for i in range(32)])
    return case


def dynamic_shared():
    n = 64
    case = Case("dynamic_shared", "Dynamic shared memory.", block=n, shared=n * 12)
    case.expect(case.out("f64", n), [10.0 * (n - 1 - t) + ((t + 1) % n) * 0.5 for t in range(n)])
    return case


def local_array():
    case = Case("local_array", "Local arrays with a run-time index.")
    index = [(i * 5 + 3) % 16 for i in range(32)]
    case.values("s32", index)
    values, texts = [], []
    for lane in range(32):
        stack, text = [0] * 16, [0] * 32
        for i in range(16):
            stack[(i * 5 + lane) % 16] = i * 100 + lane
            text[(i * 7 + lane) % 32] = i + lane & 0xFF
        at = index[lane]
        for hop in range(4):
            at = stack[(at + hop) % 16] // 100
        values.append(stack[at] + at)
        texts.append(text[(3 * 7 + lane) % 32])
    case.expect(case.out("s32", 32), values)
    case.expect(case.out("u8", 32), texts)
    return case


def constant_memory():
    case = Case("constant_memory", "Constant memory with initialisers and one value from the launch.", symbols=["scale=2.5"])
    weights, rows = [1, 2, 3, 5, 8, 13, 21, 34], [(7, 0.5), (-8, 1.5), (9, 2.5)]
    case.expect(case.out("f32", 32), [weights[i % 8] * 2.5 + rows[i % 3][0] + rows[i % 3][1] + 5 for i in range(32)])
    case.expect(case.out("f64", 32), [2 * math.pi * i for i in range(32)], what="f64 constant")
    return case


def global_variables():
    case = Case("global_variables", "Module-scope global variables.")
    numbers, message = [10, 20, 30, 40, 0, 0], b"warp\0"
    out = case.out("s32", 64)
    case.expect(out, [numbers[1 + i % 3] + numbers[4] + message[i % 5] for i in range(32)] + [sum(range(32))] * 32)
    return case


def generic_pointers():
    case = Case("generic_pointers", "Generic addresses into four state spaces.")
    data = [100, 101, 102, 103]
    case.values("s32", data)
    out, space = case.out("s32", 64), case.out("u32", 32)
    read = [(data[i // 8], 200 + i // 8, 300 + 10 * i + i // 8, 400 + i // 8)[i % 4] for i in range(32)]
    # Odd lanes store their number to global memory; even lanes to a local array, and then read it back.
    stored = [i if i % 2 else i + 300 + 10 * i + 3 for i in range(32)]
    case.expect(out, read + stored)
    case.expect(space, [1 << (i % 4) for i in range(32)], what="state space")
    return case


def vector_access():
    case = Case("vector_access", "Vector loads and stores.")
    f = [[i + k / 4 for k in range(4)] for i in range(32)]
    d = [[i * 0.5, 1000.0 - i] for i in range(32)]
    c = [[(i * 7 + k * 50) % 256 for k in range(4)] for i in range(32)]
    s = [[i * 1000 - 16000, 100 - i] for i in range(32)]
    l = [[(i - 16) << 33, i * 0x12345678901 + 7] for i in range(32)]
    flat = lambda rows: [v for row in rows for v in row]
    for kind, rows in [("f32", f), ("f64", d), ("u8", c), ("s16", s), ("s64", l)]:
        case.values(kind, flat(rows))
    out4, out_d2, mixed, out2 = case.out("f32", 128), case.out("f64", 64), case.out("s32", 128), case.out("f32", 64)
    tile = [row[::-1] for row in f]
    case.expect(out4, flat([tile[31 - i] for i in range(32)]), what="float4")
    case.expect(out_d2, flat([[y, x + y] for x, y in d]), what="double2")
    case.expect(mixed, flat([[sum((k + 1) * v for k, v in enumerate(c[i])), s[i][0] - s[i][1],
                              signed(l[i][0] >> 32), l[i][1] & 0xFFFF] for i in range(32)]), what="uchar4, short2, longlong2")
    case.expect(out2, flat([[tile[i][0], tile[(i + 1) % 32][3]] for i in range(32)]), what="float2")
    return case


def special_registers():
    block, grid = [5, 3, 4], [2, 3, 2]
    case = Case("special_registers", "Three-dimensional indices and lane masks.", block=block, grid=grid)
    out = case.out("u32", 16 * 60 * 12)
    values = []
    pack = lambda v: v[0] | v[1] << 8 | v[2] << 16
    for b in range(12):
        for t in range(60):
            lane = t % 32
            bit = 1 << lane
            below = bit - 1
            values += [pack([t % 5, t // 5 % 3, t // 15]), pack([b % 2, b // 2 % 3, b // 6]), pack(block), pack(grid), lane,
                       below, below | bit, bit, unsigned(~below), unsigned(~(below | bit)), 32, 1, 1, 0, 0, 0]
    case.expect(out, values)
    return case


def fold(threads, start, f):
    for t in threads:
        start = f(start, t)
    return start


def atomics_int():
    case = Case("atomics_int", "32-bit atomics in global and shared memory.", block=64)
    T = range(64)
    s0, u0 = [1000, 1000, 0, 0], [5, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0, 0x5A5A5A5A, 0, 0]
    inc = lambda limit: lambda old, t: 0 if old >= limit else old + 1
    dec = lambda limit: lambda old, t: limit if old == 0 or old > limit else old - 1
    s = [fold(T, s0[0], lambda v, t: v + t - 20), fold(T, s0[1], lambda v, t: v - t),
         fold(T, s0[2], lambda v, t: min(v, t * 37 % 64 - 50)), fold(T, s0[3], lambda v, t: max(v, t * 37 % 64 - 50))]
    u = [fold(T, u0[0], lambda v, t: unsigned(v + 0x08000000 + t)), fold(T, u0[1], lambda v, t: min(v, t * 11 % 64 + 5)),
         fold(T, u0[2], lambda v, t: max(v, t * 11 % 64 + 0x80000000)), fold(T, u0[3], lambda v, t: v & ~(1 << t % 20)),
         fold(T, u0[4], lambda v, t: v | 1 << t % 27), fold(T, u0[5], lambda v, t: v ^ unsigned(t * 0x01010101)),
         fold(T, u0[6], inc(9)), fold(T, u0[7], dec(9))]
    arguments = [case.values("s32", s0), case.values("u32", u0, hexadecimal=True)]
    arguments += [case.values("s32", s0), case.values("u32", u0, hexadecimal=True)]
    for index, values, what in zip(arguments, [s, u, s, u], ["global s32", "global u32", "shared s32", "shared u32"]):
        case.expect(index, values, what=what)
    returned = case.out("u32", 8)
    # Tickets; their sum; old values of a counter modulo 4; that counter; last exchange varies with the order and is left
    # out; sum of all exchanged values; compare-and-swap has one winner.
    case.expect(returned, [64, sum(T), 16 * (0 + 1 + 2 + 3), 0])
    case.expect(returned, [sum(t + 1 for t in T), 1, 1], offset=5)
    return case


def atomics_long():
    case = Case("atomics_long", "64-bit atomics in global and shared memory.", block=64)
    T = range(64)
    big = 10000000000
    s0, u0 = [0, 0], [5, (1 << 64) - 1, 0, (1 << 64) - 1, 0, 0x5A5A5A5A5A5A5A5A]
    s = [fold(T, 0, lambda v, t: min(v, (t * 37 % 64 - 50) * big)), fold(T, 0, lambda v, t: max(v, (t * 37 % 64 - 50) * big))]
    u = [fold(T, u0[0], lambda v, t: unsigned(v + 0x100000001 * t, 64)), fold(T, u0[1], lambda v, t: min(v, t * 11 % 64 + 5 << 40)),
         fold(T, u0[2], lambda v, t: max(v, t * 11 % 64 << 58)), fold(T, u0[3], lambda v, t: v & ~(1 << t % 60)),
         fold(T, u0[4], lambda v, t: v | 1 << t % 50), fold(T, u0[5], lambda v, t: v ^ unsigned(t * 0x0101010101010101, 64))]
    s64 = lambda values: [signed(v, 64) for v in values]
    arguments = [case.values("s64", s0), case.values("s64", s64(u0)), case.values("s64", s0), case.values("s64", s64(u0))]
    for index, values, what in zip(arguments, [s, u, s, u], ["global s64", "global u64", "shared s64", "shared u64"]):
        case.expect(index, s64(values), what=what)
    returned = case.out("s64", 6)
    case.expect(returned, s64([64 << 33, sum(t << 33 for t in T)]))
    case.expect(returned, [sum(t + 1 for t in T), 1, 1], offset=3)
    return case


def atomics_float():
    case = Case("atomics_float", "Floating-point atomics and a compare-and-swap loop.", block=64)
    T = range(64)
    f, d = case.values("f32", [3.0, 0.0]), case.values("f64", [0.5, 0.0])
    h, single, b = case.values("u16", [bits16(2.0), 0]), case.values("u16", [bits16(0.5)]), case.out("u16", 2)
    top = case.values("f32", [-1.5])
    case.expect(f, [3.0 + sum(t * 0.5 for t in T), 1.0 + sum(t * 0.25 for t in T)], what="f32")
    case.expect(d, [0.5 + sum(t * 0.125 + 1e9 for t in T), 2.0 + sum(T)], what="f64")
    case.expect(h, [bits16(66.0), bits16(-32.0)], what="f16x2")
    case.expect(single, [bits16(0.5 + 16 * 6)], what="f16")
    case.expect(b, [bits_bf16(64.0), bits_bf16(128.0)], what="bf16x2")
    case.expect(top, [max(t * 29 % 64 for t in T) - 10.5], what="maximum")
    return case


def last_block():
    case = Case("last_block", "The last block adds the partial sums of all.", block=64, grid=8)
    rng = random.Random(81)
    data = [rng.randrange(-1000, 1000) for _ in range(512)]
    case.values("s32", data)
    case.expect(case.out("s32", 8), [sum(data[b * 64 : b * 64 + 64]) for b in range(8)], what="partial")
    case.expect(case.out("s32", 1), [sum(data)], what="total")
    return case


def histogram():
    case = Case("histogram", "A histogram with shared and global atomics.", block=64, grid=2)
    data = [i * i * 7 % 251 for i in range(600)]
    case.values("u8", data)
    bins = case.values("u32", [1] * 16)
    case.arg("600")
    case.expect(bins, [1 + sum(v >> 4 == k for v in data) for k in range(16)])
    return case


def bitonic_sort():
    case = Case("bitonic_sort", "A bitonic sorting network.", block=128)
    rng = random.Random(82)
    keys = [rng.randrange(-5000, 5000) for _ in range(128)]
    index = case.values("s32", keys)
    case.expect(index, sorted(keys))
    return case


def grid_stride():
    case = Case("grid_stride", "A grid-stride loop.", block=64, grid=3)
    n = 777
    case.out("s32", n, "iota")
    out = case.out("s32", n + 3, "fill(-1)")
    case.arg(str(n))
    case.expect(out, [i * i for i in range(n)] + [-1] * 3)
    return case


def memory_order():
    case = Case("memory_order", "Ordered and cached forms of memory access.", block=64)
    data = [i * 3 + 1 for i in range(64)]
    case.values("s32", data)
    mail, flag, out = case.out("s32", 3), case.out("u32", 1), case.out("s32", 65)
    case.expect(mail, [42, sum(range(64)), 64], what="mail")
    case.expect(flag, [1], what="flag")
    case.expect(out, [data[t] * 1000 + data[t ^ 1] for t in range(64)] + [42])
    return case


CASES = [struct_param, dynamic_shared, local_array, constant_memory, global_variables, generic_pointers, vector_access,
         special_registers, atomics_int, atomics_long, atomics_float, last_block, histogram, bitonic_sort, grid_stride,
         memory_order]
