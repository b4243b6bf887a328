"""Expected results of the kernels that multiply matrices. All values are small integers or halves, so that every sum is
exact whatever the order."""

import struct

from case import Case


def small(count, step, lowest=-3, n=7):
    """Integers in a range, in an order without a pattern."""
    return [(i * step + i // 5 * 3) % n + lowest for i in range(count)]


def product(rows, columns, depth, a, b, c=lambda i, j: 0):
    return [c(i, j) + sum(a(i, k) * b(k, j) for k in range(depth)) for i in range(rows) for j in range(columns)]


def wmma_half():
    case = Case("wmma_half", "Products of f16 by wmma.", ptx=["sm_70", "sm_75", "sm_80", "sm_90"])
    a, b = small(1024, 5), small(1024, 3)
    out, halves = case.out("f32", 1280), None
    start = small(256, 11) + [0] * 512
    halves = case.values("f16", start)
    case.values("f16", a)
    case.values("f16", b)
    rows = lambda m: lambda i, j: m[32 * i + j]
    columns = lambda m: lambda i, j: m[32 * j + i]
    shapes = [(16, 16, rows, columns), (32, 8, columns, rows), (8, 32, rows, rows), (16, 16, columns, rows),
              (32, 8, rows, columns)]
    for number, (m, n, of_a, of_b) in enumerate(shapes):
        left, right = of_a(a), of_b(b)
        case.expect(out, product(m, n, 16, lambda i, k: 2 * left(i, k), right, lambda i, j: 1), offset=256 * number,
                    what=f"m{m}n{n}k16, {number}")
    of_halves = product(16, 16, 16, lambda i, k: a[32 * i + 16 + k], lambda k, j: b[32 * (16 + k) + j],
                        lambda i, j: start[16 * j + i])
    case.expect(halves, of_halves, offset=256, what="f16 by rows")
    case.expect(halves, [of_halves[16 * i + j] for j in range(16) for i in range(16)], offset=512, what="f16 by columns")
    return case


def wmma_types():
    case = Case("wmma_types", "Products by wmma of other types than f16.", ptx=["sm_80", "sm_90"])
    brain, single, twice = small(640, 5), small(256, 3), small(64, 11)
    byte = small(768, 37, -128, 256)
    bits = [(i * 2654435761 + 12345) % 2**32 for i in range(64)]
    out, doubles, ints = case.out("f32", 512), case.out("f64", 64), case.out("s32", 640)
    case.values("bf16", brain)
    case.values("f32", single)
    case.values("f64", twice)
    case.values("s8", byte)
    case.values("u32", bits)
    of_brain = product(8, 32, 16, lambda i, k: brain[16 * i + k], lambda k, j: brain[128 + 16 * j + k],
                       lambda i, j: 0.5)
    by_columns = [of_brain[32 * i + j] for j in range(32) for i in range(8)]
    case.expect(out, by_columns, what="bf16")
    case.expect(out, product(16, 16, 8, lambda i, k: single[16 * k + i], lambda k, j: single[128 + 16 * k + j],
                             lambda i, j: by_columns[16 * i + j]), offset=256, what="tf32")
    case.expect(doubles, product(8, 8, 4, lambda i, k: twice[4 * i + k], lambda k, j: twice[32 + 8 * k + j],
                                 lambda i, j: -1), what="f64")
    case.expect(ints, product(32, 8, 16, lambda i, k: byte[16 * i + k], lambda k, j: byte[512 + 16 * k + j],
                              lambda i, j: 7), what="s8")
    unsigned = [value % 256 for value in byte]
    of_bytes = product(16, 16, 16, lambda i, k: unsigned[16 * k + i], lambda k, j: unsigned[256 + 16 * j + k])
    case.expect(ints, [of_bytes[16 * i + j] for j in range(16) for i in range(16)], offset=256, what="u8")
    four = lambda at: (lambda v: v - 16 if v > 7 else v)(bits[at // 8] >> at % 8 * 4 & 15)
    case.expect(ints, product(8, 8, 32, lambda i, k: four(32 * i + k), lambda k, j: four(256 + 32 * j + k)),
                offset=512, what="s4")
    bit = lambda at: bits[at // 32] >> at % 32 & 1
    both = lambda i, j: sum((x := bit(128 * i + k)) + (y := bit(1024 + 128 * j + k)) - (x & y) for k in range(128))
    case.expect(ints, [both(i, j) for i in range(8) for j in range(8)], offset=576, what="b1")
    return case


def tile_mma():
    case = Case("tile_mma", "A product in tiles with copies in stages.", block=256, grid=[2, 1], ptx=["sm_80", "sm_90"])
    m, n, k = 64, 128, 160
    a, b = small(m * k, 5), small(k * n, 3)
    out = case.out("f32", m * n)
    case.values("f16", a)
    case.values("f16", b)
    case.arg(str(n))
    case.arg(str(k))
    case.expect(out, product(m, n, k, lambda i, l: a[k * i + l], lambda l, j: b[n * l + j]))
    return case


def byte_mma():
    case = Case("byte_mma", "Products of bytes, with clamping.", grid=[3, 2], ptx=["sm_80", "sm_90"])
    m, n, k = 32, 24, 96
    a, b = small(m * k, 37, -128, 256), small(n * k, 91, 0, 256)
    out = case.out("s32", m * n)
    case.values("s8", a)
    case.values("u8", b)
    case.arg(str(k))
    start = lambda i, j: [[2147483000, -2147483000], [0, 0]][i % 16 // 8][j % 2]

    def clamped(i, j):
        total = start(i, j)
        for depth in range(0, k, 32):
            total += sum(a[k * i + depth + l] * b[k * j + depth + l] for l in range(32))
            total = max(-2**31, min(2**31 - 1, total))
        return total

    case.expect(out, [clamped(i, j) for i in range(m) for j in range(n)])
    return case


def stored_matrices():
    case = Case("stored_matrices", "Matrices stored by the lanes of a warp.", ptx=["sm_90"])
    out = case.out("u32", 256)
    word = lambda elements: [x | y << 16 for x, y in zip(elements[::2], elements[1::2])]
    matrix = lambda number: [[64 * number + 8 * r + c for c in range(8)] for r in range(8)]
    flat = lambda m: [x for row in m for x in row]
    turned = lambda m: [list(column) for column in zip(*m)]
    first = [flat(turned(matrix(number))) for number in range(4)]
    case.expect(out, word([x for m in first for x in m]), what="transposed")
    second = [flat(matrix(3)), flat(matrix(2)), flat(turned(matrix(1))), first[3]]
    case.expect(out, word([x for m in second for x in m]), offset=128, what="some")
    return case


def group_mma():
    case = Case("group_mma", "Products of four warps.", block=128, ptx=["sm_90a"])
    a, b = small(64 * 64, 5), small(64 * 64, 3)
    byte = small(2048 + 512, 37, -128, 256)
    out, ints = case.out("f32", 4096), case.out("s32", 1024)
    case.values("f16", a)
    case.values("f16", b)
    case.values("s8", byte)
    first = product(64, 32, 64, lambda i, k: a[64 * i + k], lambda k, j: -b[64 * j + k])
    case.expect(out, first, what="exchanged pieces")
    case.expect(out, product(64, 32, 16, lambda i, k: a[64 * i + k], lambda k, j: b[64 * j + k],
                             lambda i, j: first[32 * i + j]), offset=2048, what="depth by depth, a in registers")
    start = lambda i, j: {0: 2000000000, 7: 5}.get(i % 16 // 8 * 2 + j // 8 * 4 + j % 2, 0)
    case.expect(ints, product(64, 16, 32, lambda i, k: byte[32 * i + k], lambda k, j: byte[2048 + 32 * j + k], start),
                what="bytes")
    return case


class Sparse:
    """A matrix of which each group of neighbours in depth keeps half, elements of four bits in pairs."""

    def __init__(self, rows, k, bits, values):
        self.rows, self.k, self.bits = rows, k, bits
        self.length = {32: 2, 16: 4, 8: 4, 4: 8}[bits]
        pairs = [(first, second) for second in range(4) for first in range(second)]
        self.kept, self.nibbles = [], []
        for row in range(rows):
            chosen = [(3 * row + 5 * group + row * group) % 6 for group in range(k // self.length)]
            if bits == 32:
                picked = [[choice % 2] for choice in chosen]
                self.nibbles.append([[0b0100, 0b1110][choice % 2] for choice in chosen])
            else:
                picked = [pairs[choice] for choice in chosen]
                self.nibbles.append([first | second << 2 for first, second in picked])
            unit = 2 if bits == 4 else 1
            self.kept.append([group * self.length + unit * place + at for group, places in enumerate(picked)
                              for place in places for at in range(unit)])
        self.held = [[values[(row * k // 2 + at) % len(values)] for at in range(k // 2)] for row in range(rows)]

    def __call__(self, row, depth):
        return self.held[row][self.kept[row].index(depth)] if depth in self.kept[row] else 0

    def metadata(self, first_row, selector=0):
        """The words of the lanes of a warp that has 16 rows; lanes that are not asked hold ones."""
        n = self.k // self.length // 4
        words = []
        for lane in range(32):
            g, part = lane // 4 + first_row, lane % 4 - selector * n
            if not 0 <= part < n:
                words.append(2**32 - 1)
                continue
            if self.bits >= 16:
                nibbles = self.nibbles[g][4 * part:][:4] + self.nibbles[g + 8][4 * part:][:4]
            else:
                nibbles = self.nibbles[g + part % 2 * 8][part // 2 * 8:][:8]
            words.append(sum(nibble << 4 * at for at, nibble in enumerate(nibbles)))
        return words


def packed(values, bits, encode):
    return [sum((encode(v) & (2**bits - 1)) << bits * at for at, v in enumerate(values[i:i + 32 // bits]))
            for i in range(0, len(values), 32 // bits)]


def fragment(line, n_lines, depth, bits, encode):
    """Words register by register of 8 lines, or of 16, of a factor."""
    in_word = 32 // bits
    words = []
    for register in range(depth // (4 * in_word) * n_lines // 8):
        step, half = register // (n_lines // 8), register % (n_lines // 8)
        for lane in range(32):
            first = (4 * step + lane % 4) * in_word
            values = [line(lane // 4 + 8 * half, first + at) for at in range(in_word)]
            words += packed(values, bits, encode)
    return words


def float_bits(kind):
    return lambda v: int.from_bytes(struct.pack(kind, v), "little")


def e4m3(v):
    return {0: 0, 1: 0x38, 2: 0x40, 3: 0x44, -1: 0xb8, -2: 0xc0, -3: 0xc4}[v]


def sparse_mma():
    case = Case("sparse_mma", "Products with a sparse first factor.", ptx=["sm_89", "sm_90"])
    out, words, at = case.out("s32", 9 * 128), [], 0
    small_floats, bytes_ = small(101, 5), small(199, 37, -128, 256)
    four = lambda lowest: small(97, 5, lowest, 16)
    same = lambda v: v
    # Bits, depth, selector, values of a and of b, and how they are written.
    forms = [(16, 16, 2, small_floats, small_floats, float_bits("<e")), (16, 32, 1, small_floats, small_floats, float_bits("<e")),
             (32, 8, 3, small_floats, small_floats, float_bits("<f")), (32, 16, 0, small_floats, small_floats, float_bits("<f")),
             (8, 64, 0, small_floats, small_floats, e4m3), (8, 32, 1, bytes_, [v + 128 for v in bytes_], same),
             (8, 64, 0, bytes_, bytes_, same), (4, 64, 0, four(-8), four(-8), same), (4, 128, 0, four(0), four(-8), same)]
    for bits, k, selector, of_a, of_b, encode in forms:
        a = Sparse(16, k, bits, of_a)
        b = lambda depth, column: of_b[(k * column + 3 * depth) % len(of_b)]
        words += fragment(lambda row, depth: a.held[row][depth], 16, k // 2, bits, encode)
        words += fragment(lambda column, depth: b(depth, column), 8, k, bits, encode)
        words += a.metadata(0, selector)
        start = lambda i, j: 1 + j % 2 + i // 8 * 2
        case.expect(out, product(16, 8, k, a, b, start), offset=at, what=f"{bits} bits, depth {k}")
        at += 128
    case.values("u32", words)
    return case


def sparse_group_mma():
    case = Case("sparse_group_mma", "Products of four warps with a sparse first factor.", block=128, ptx=["sm_90a"])
    halves = [Sparse(64, 32, 16, small(97, 5)), Sparse(64, 32, 16, small(89, 3))]
    b = small(16 * 64, 3)
    of_bytes = Sparse(64, 64, 8, small(199, 37, -128, 256))
    byte = small(16 * 64, 91, -128, 256)
    out, ints = case.out("f32", 1024), case.out("s32", 1024)
    case.values("f16", [v for row in range(64) for half in halves for v in half.held[row]])
    case.values("f16", b)
    case.values("s8", [v for row in range(64) for v in of_bytes.held[row]])
    case.values("s8", byte)
    case.values("u32", [word for matrix, selector in [(halves[0], 1), (halves[1], 0), (of_bytes, 0)] for warp in range(4)
                        for word in matrix.metadata(16 * warp, selector)])
    first = product(64, 16, 32, halves[0], lambda k, j: b[64 * j + k], lambda i, j: 1)
    case.expect(out, product(64, 16, 32, halves[1], lambda k, j: -b[64 * j + 32 + k], lambda i, j: first[16 * i + j]))
    start = lambda i, j: {0: 2000000000, 7: 5}.get(i % 16 // 8 * 2 + j // 8 * 4 + j % 2, 0)
    case.expect(ints, product(64, 16, 64, of_bytes, lambda k, j: byte[64 * j + k], start), what="bytes")
    return case


CASES = [wmma_half, wmma_types, tile_mma, byte_mma, stored_matrices, group_mma, sparse_mma, sparse_group_mma]
