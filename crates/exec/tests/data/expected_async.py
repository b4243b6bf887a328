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


CASES = [staged_sum]
