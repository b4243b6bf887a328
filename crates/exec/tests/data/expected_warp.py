"""Expected results of the warp-level kernels: shuffles, votes, matches, reductions, scans, cooperative groups."""

import random

from case import Case
from exact import unsigned


def shuffle():
    case = Case("shuffle", "Shuffles in four modes with segments.")
    a = [i * i + 5 for i in range(32)]
    case.values("s32", a)
    out, inside, wide = case.out("s32", 14 * 32), case.out("u32", 64), case.out("f64", 32)
    lanes = range(32)

    def source(mode, lane, b, width=32):
        """The lane read, or the own lane where the source falls outside the segment."""
        first = lane // width * width
        at = {"idx": first + b % width, "up": lane - b, "down": lane + b, "bfly": lane ^ b}[mode]
        ok = at >= first if mode == "up" else at < first + width
        return (at, True) if ok else (lane, False)

    def row(what, mode, b, width=32):
        return what, [a[source(mode, i, b(i) if callable(b) else b, width)[0]] for i in lanes]

    # The upper bits of the control operand select segments: 0x1800 is width 8 with a lower bound of 0.
    segmented = [source("up", i, 2, 8) for i in lanes]
    case.rows(out, [
        row("idx", "idx", 5), row("idx by lane", "idx", lambda i: i * 7), row("up", "up", 3), row("down", "down", 5),
        row("xor", "bfly", 9), row("idx width 8", "idx", 2, 8), row("up width 4", "up", 1, 4),
        row("down width 16", "down", 2, 16), row("xor width 8", "bfly", 3, 8),
        # Flipping bit 3 leads to the other segment of 8: towards a lower one it is allowed, to a higher one not.
        row("xor across segments", "bfly", 8, 8),
        row("idx by lane width 16", "idx", lambda i: i + 3, 16),
        row("down with predicate", "down", 6),
        ("up in segments of 8", [a[at] for at, _ in segmented]),
        ("halves", [a[i ^ 15] if i < 16 else a[min(i + 1, 31)] for i in lanes]),
    ])
    case.expect(inside, [int(i + 6 < 32) for i in lanes] + [int(ok) for _, ok in segmented], what="inside")
    case.expect(wide, [a[i ^ 1] * 0.5 for i in lanes], what="f64")
    return case


def vote():
    case = Case("vote", "Votes and counting barriers.", block=64)
    rng = random.Random(91)
    a = [rng.randrange(1, 100) for _ in range(64)]
    a[40] = 0
    case.values("s32", a)
    out = case.out("u32", 2 * 8 * 32)
    for warp in range(2):
        v = a[warp * 32 : warp * 32 + 32]
        lanes = range(32)
        ballot = lambda test, members=lanes: sum(1 << i for i in members if test(v[i]))
        threes, others = [i for i in lanes if i % 3 == 0], [i for i in lanes if i % 3]
        pick = lambda x, y: [x if i % 3 == 0 else y for i in lanes]
        case_rows = [
            ("all", [int(all(x > 0 for x in v))] * 32),
            ("any", [int(any(x > 90 for x in v))] * 32),
            ("ballot", [ballot(lambda x: x % 3 == 0)] * 32),
            ("uni", [int(len({x > 50 for x in v}) == 1)] * 32),
            ("ballot of a branch", pick(ballot(lambda x: x % 2, threes), ballot(lambda x: x % 5 == 0, others))),
            ("all and any of a branch", pick(int(all(v[i] > 0 for i in threes)), int(any(v[i] == 0 for i in others)))),
            ("barrier count", [sum(x > 40 for x in a)] * 32),
            ("barrier and, or", [2 * int(all(x >= 0 for x in a)) + int(any(x > 1000 for x in a))] * 32),
        ]
        for op, (what, values) in enumerate(case_rows):
            case.expect(out, values, warp * 256 + op * 32, what)
    return case


def match():
    case = Case("match", "Lanes with equal values.")
    a = [(i * 7) % 5 for i in range(32)]
    case.values("s32", a)
    any32, any64, every, agreed, active = (case.out(k, n) for k, n in [("u32", 32), ("u32", 32), ("u32", 64), ("s32", 64), ("u32", 32)])
    mask = lambda test: sum(1 << j for j in range(32) if test(a[j]))
    case.expect(any32, [mask(lambda v, w=w: v == w) for w in a], what="any b32")
    case.expect(any64, [mask(lambda v, w=w: v % 2 == w % 2) for w in a], what="any b64")
    case.expect(every, [0] * 32 + [0xFFFFFFFF] * 32, what="all")
    case.expect(agreed, [0] * 32 + [1] * 32, what="all agreed")
    case.expect(active, [1 if v % 2 == 0 else 2 for v in a], what="activemask")
    return case


def redux():
    case = Case("redux", "Reductions of integers across a warp.", ptx=["sm_80", "sm_90"])
    rng = random.Random(92)
    a = [rng.randrange(-(2**31), 2**31) for _ in range(32)]
    case.values("s32", a)
    out = case.out("u32", 9 * 32)

    def fold(f, values):
        result = values[0]
        for v in values[1:]:
            result = f(result, v)
        return unsigned(result)

    u = [unsigned(v) for v in a]
    rows = [
        ("add", fold(lambda x, y: x + y, a)), ("min.s32", fold(min, a)), ("max.s32", fold(max, a)), ("min.u32", fold(min, u)),
        ("max.u32", fold(max, u)), ("and", fold(lambda x, y: x & y, [v | 3 for v in u])),
        ("or", fold(lambda x, y: x | y, [v & 0xF0F0 for v in u])), ("xor", fold(lambda x, y: x ^ y, u)),
    ]
    halves = [fold(lambda x, y: x + y, a[:16])] * 16 + [fold(max, a[16:])] * 16
    case.rows(out, [(what, [v] * 32) for what, v in rows] + [("halves", halves)])
    return case


def cooperative():
    case = Case("cooperative", "Cooperative groups.", block=64)
    rng = random.Random(93)
    a = [rng.randrange(0, 1000) for _ in range(64)]
    case.values("s32", a)
    tile = lambda t: a[t // 8 * 8 : t // 8 * 8 + 8]
    case.expect(case.out("s32", 64), [sum(tile(t)) for t in range(64)], what="sum of a tile")
    case.expect(case.out("s32", 64), [sum(tile(t)[: t % 8 + 1]) for t in range(64)], what="scan of a tile")
    rank, largest = case.out("s32", 64), case.out("s32", 64)
    case.expect(rank, [1 if v % 2 else -1 for v in a], what="coalesced group")
    case.expect(largest, [max(a[t // 32 * 32 : t // 32 * 32 + 32]) for t in range(64)], what="maximum of a warp")
    return case


def tiles():
    case = Case("tiles", "Tiles of 16 lanes.")
    out = case.out("s32", 32)
    case.values("s32", list(range(32)))
    case.expect(out, [sum(range(t // 16 * 16, t // 16 * 16 + 16)) for t in range(32)], what="sum of a tile")
    return case


def warp_scan():
    case = Case("warp_scan", "Inclusive prefix sums.", block=128)
    rng = random.Random(94)
    a = [rng.randrange(-100, 100) for _ in range(128)]
    case.values("s32", a)
    case.expect(case.out("s32", 128), [sum(a[: t + 1]) for t in range(128)])
    return case


CASES = [shuffle, vote, match, redux, cooperative, tiles, warp_scan]
