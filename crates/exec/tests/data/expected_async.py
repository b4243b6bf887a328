"""Expected results of the kernels with asynchronous copies."""

from case import Case


def staged_sum():
    case = Case("staged_sum", "Copies in three stages; the last tile is short.", block=64, ptx=["sm_80"])
    n, tile = 1000, 256
    out = case.out("s32", 64)
    case.out("s32", n, "iota")
    case.arg(str(n))
    word = lambda k, at: k * tile + at if k * tile + at < n else 0
    case.expect(out, [sum((i + 1) * word(k, (t + 64 * i) % tile) for k in range(4) for i in range(4))
                      for t in range(64)])
    return case


def barrier_phases():
    case = Case("barrier_phases", "Barriers in shared memory, for two warps and then one.", block=96, ptx=["sm_80", "sm_90"])
    data = [i * 7 % 101 - 50 for i in range(768)]
    out = case.out("s32", 96)
    case.values("s32", data)
    turns = lambda t: 4 if t >= 64 else 6
    total = lambda t: sum((k + 1) * data[128 * k + (5 * t + i) % 128] for k in range(turns(t)) for i in range(2))
    case.expect(out, [t if t < 32 else total(t) for t in range(96)])
    return case


def bulk_tiles():
    case = Case("bulk_tiles", "Bulk copies in both directions, and one that adds.", block=96, ptx=["sm_90"])
    n_tiles, words = 5, 384
    data = [i * 11 % 197 - 98 for i in range(n_tiles * words)]
    out, sums = case.out("s32", n_tiles * words), case.out("s32", words, "fill(1000)")
    case.values("s32", data)
    case.arg(str(n_tiles))
    results = [3 * value + i // words for i, value in enumerate(data)]
    case.expect(out, results)
    case.expect(sums, [1000 + sum(results[i::words]) for i in range(words)], what="sums")
    return case


def cluster_histogram():
    case = Case("cluster_histogram", "A histogram in the shared memory of four blocks.", block=32, grid=8, ptx=["sm_90"])
    n, blocks, bins = 500, 4, 16
    data = [i * i * 7 % 61 + (i % 3) for i in range(2 * n)]
    out, largest = case.out("s32", 8 * bins), case.out("s32", 2)
    case.values("s32", data)
    case.arg(str(n))
    counts = [[data[c * n:(c + 1) * n].count(v) for v in range(blocks * bins)] for c in range(2)]
    case.expect(out, [count for cluster in counts for count in cluster])
    case.expect(largest, [max(cluster) for cluster in counts], what="largest")
    return case


def cluster_ring():
    case = Case("cluster_ring", "Tiles handed round the blocks of a cluster.", block=128, grid=8, cluster=[4], ptx=["sm_90"])
    turns, words, blocks = 6, 128, 4
    data = [i * 13 % 251 - 125 for i in range(8 * words)]
    out = case.out("s32", 8 * words)
    case.values("s32", data)
    case.arg(str(turns))
    tile = lambda block, t: data[block * words + t]
    before = lambda block, k: block // blocks * blocks + (block - k) % blocks
    case.expect(out, [sum((k + 1) * tile(before(block, k + 1), t) for k in range(turns))
                      for block in range(8) for t in range(words)])
    return case


def tensor_tiles():
    case = Case("tensor_tiles", "Boxes of a tensor, fetched, written back and added.", block=128, grid=3, ptx=["sm_90"])
    width, height, columns, rows = 28, 18, 16, 8
    data = [i * 17 % 229 - 114 for i in range(width * height)]
    out = case.out("s32", 32 * height, "fill(-1)")
    case.values("s32", data)
    sums = case.out("s32", columns * rows, "fill(7)")
    case.arg(f"tensormap(&1,s32,extents({width},{height}),box({columns},{rows}))")
    case.arg(f"tensormap(&0,s32,extents(32,{height}),box({columns},{rows}))")
    case.arg(f"tensormap(&2,s32,extents({columns},{rows}),box({columns},{rows}))")
    word = lambda x, y: data[y * width + x] if 0 <= x < width and 0 <= y < height else 0
    left = [-1] * (32 * height)
    added = [7] * (columns * rows)
    for block in range(3):
        for s in range(2):
            for i in range(rows):
                for j in range(columns):
                    value, y = 3 * word(s * columns - 4 + j, block * rows - 3 + i) + s, block * rows - 3 + i
                    if 0 <= y < height:
                        left[32 * y + s * columns + j] = value
                    if s == 1 and j + 2 < columns:
                        added[i * columns + j + 2] += value
    case.expect(out, left)
    case.expect(sums, added, what="sums")
    return case


CASES = [staged_sum, barrier_phases, bulk_tiles, cluster_histogram, cluster_ring, tensor_tiles]
