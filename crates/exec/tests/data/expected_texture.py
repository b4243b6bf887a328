"""Expected results of the kernels with textures and surfaces, by the formulas of the CUDA C++ programming guide."""

from fractions import Fraction as F
from math import floor

from case import Case


def wrap(i, n):
    return i % n


def clamp(i, n):
    return min(max(i, 0), n - 1)


def border(i, n):
    return i if 0 <= i < n else None


def linear(texel, at, extent, mode):
    """A linear filter on up to three axes, with weights in 256ths as an H200 has them; texel(None) is the border."""
    steps = []
    for x, n in zip(at, extent):
        low = floor(x - F(1, 2))
        weight = floor((x - F(1, 2) - low) * 256 + F(1, 2))
        steps.append(([mode(low, n), mode(low + 1, n)], weight))
    steps += [([0], 0)] * (3 - len(steps))
    (xs, x), (ys, y), (zs, z) = steps
    total = F(0)
    for k, plane in zip(range(len(zs)), (256 - z, z)):
        right = (plane * x + 128) // 256
        for i, column in zip(range(len(xs)), (plane - right, right)):
            # Halves of the left column go up, those of the right one down.
            lower = (column * y + 127 + i) // 256
            for j, weight in zip(range(len(ys)), (column - lower, lower)):
                where = (xs[i], ys[j], zs[k])[:len(at)]
                total += F(weight, 256) * texel(None if None in where else where)
    return total


def texture_spmv():
    case = Case("texture_spmv", "A sparse product whose vector is a texture on linear memory.", block=16, grid=2,
                ptx=["sm_75", "sm_80"])
    n = 24
    vector = [F(i * 7 % 13 - 6, 4) for i in range(n)]
    rows, columns, values = [0], [], []
    for i in range(n):
        for k in range(i % 5):
            columns.append((i * 5 + k * 11) % (n + 2))
            values.append(F((i + 3 * k) % 9 - 4, 2))
        rows.append(len(columns))
    y = case.out("f32", n)
    case.values("s32", rows)
    case.values("s32", columns)
    case.values("f32", values)
    case.arg("texture(f32[%d]:values(%s))" % (n, ",".join(str(float(v)) for v in vector)))
    case.arg(str(n))
    at = lambda column: vector[column] if column < n else F(0)
    case.expect(y, [sum(values[k] * at(columns[k]) for k in range(rows[i], rows[i + 1])) for i in range(n)])
    return case


def texture_rotate():
    case = Case("texture_rotate", "An image turned by a bilinear filter.", block=[8, 8], grid=[3, 2],
                ptx=["sm_75", "sm_80"])
    width, height, size = 20, 12, 16
    image = [[F((5 * x + 11 * y * y) % 64) for x in range(size)] for y in range(size)]
    texels = ",".join(str(int(v)) for row in image for v in row)
    texture = "texture(f32[256]:values(%s), width=16, height=16, filter=linear, %s)"
    repeated, bordered = case.out("f32", width * height), case.out("f32", width * height)
    case.arg(texture % (texels, "address=wrap, normalized=true"))
    case.arg(texture % (texels, "address=border, border=(8,0,0,0)"))
    case.arg(str(width))
    case.arg(str(height))
    texel = lambda where: F(8) if where is None else image[where[1]][where[0]]
    places = [(F(3, 4) * x - F(5, 8) * y + F(53, 16), F(5, 8) * x + F(3, 4) * y - F(87, 32))
              for y in range(height) for x in range(width)]
    case.expect(repeated, [linear(texel, at, (size, size), wrap) for at in places], what="repeated")
    case.expect(bordered, [linear(texel, at, (size, size), border) for at in places], what="bordered")
    return case


def surface_blur():
    case = Case("surface_blur", "A sum over neighbours, read from and written to surfaces.", block=[8, 4], grid=[2, 2],
                ptx=["sm_75", "sm_80"])
    width, height = 10, 7
    pixel = lambda x, y: [(37 * x + 11 * y + 5 * c) % 256 for c in range(4)]
    image = [[pixel(x, y) for x in range(width)] for y in range(height)]
    surface = "surface(u8[%d]%%s, width=%d, height=%d, format=u8x4)" % (4 * width * height, width, height)
    out = case.arg(surface % "")
    case.arg(surface % ":values(%s)" % ",".join(str(v) for row in image for p in row for v in p))
    case.arg(str(width))
    case.arg(str(height))
    total = lambda x, y, c: sum(image[clamp(y + j, height)][clamp(x + i, width)][c]
                                for j in (-1, 0, 1) for i in (-1, 0, 1))
    case.expect(out, [v for y in range(height) for x in range(width)
                      for v in (255 - total(x, y, 0) // 9, x, 255 - total(x, y, 2) // 9, y)])
    return case


def texture_layers():
    case = Case("texture_layers", "Filtered layers, a volume and levels of a mipmap.", block=16, grid=3,
                ptx=["sm_75", "sm_80"])
    flat = [[[F(10 * l + x), F(l + 3 * y)] for y in range(3) for x in range(4)] for l in range(3)]
    deep = [[[F(64 * (x + y + z)) for x in range(4)] for y in range(2)] for z in range(3)]
    out = case.out("f32", 96)
    values = lambda numbers: ",".join(str(int(v)) for v in numbers)
    case.arg("texture(f32[72]:values(%s), width=4, height=3, layers=3, format=f32x2, filter=linear)"
             % values(v for layer in flat for texel in layer for v in texel))
    case.arg("texture(f32[24]:values(%s), width=4, height=2, depth=3, filter=linear)"
             % values(v for plane in deep for row in plane for v in row))
    case.arg("texture(f32[21]:values(%s), width=4, height=4, levels=3, filter=linear, level_filter=linear)"
             % values([1] * 16 + [3] * 4 + [9]))
    surface = case.arg("surface(f32[48], width=8, height=2, layers=3)")
    levels = [F(1), F(3), F(9)]
    results, stored = [], []
    for layer in range(3):
        for t in range(16):
            x = F(t, 4) + F(1, 2)
            two = [linear(lambda where, c=c: flat[layer][4 * where[1] + where[0]][c], (x, F(5, 4)), (4, 3), clamp)
                   for c in (0, 1)]
            three = linear(lambda where: deep[where[2]][where[1]][where[0]], (x, F(3, 2), F(3, 4) + layer), (4, 2, 3), clamp)
            level = min(F(t, 2), F(2))
            low = floor(level)
            part = level - low
            mip = levels[low] * (1 - part) + levels[min(low + 1, 2)] * part
            results.append(two[0] + 1000 * two[1] + three / 4096 + 1000000 * mip)
            if t < 8:
                stored.append(two[1])
    for layer in range(3):
        case.expect(out, results[16 * layer:16 * layer + 16], offset=32 * layer, what=f"layer {layer}", rel=1e-6)
        case.expect(surface, stored[8 * layer:8 * layer + 8], offset=16 * layer + 8, what=f"stored to {layer}")
    return case


def texture_reference():
    image = [[(17 * x + 29 * y) % 256 for x in range(8)] for y in range(4)]
    table = [3 * i - 5 for i in range(20)]
    case = Case("texture_reference", "Texture references of linear memory and of an image.", block=8, grid=4,
                ptx=["sm_35"], symbols=[
                    "image=texture(u8[32]:values(%s), width=8, height=4, filter=linear, read=normalized)"
                    % ",".join(str(v) for row in image for v in row),
                    "table=texture(s32[20]:values(%s))" % ",".join(map(str, table))])
    out = case.out("f32", 32)
    case.arg("8")
    at = lambda i: table[i] if i < 20 else 0
    texel = lambda where: F(image[where[1]][where[0]], 255)
    case.expect(out, [255 * linear(texel, (x + F(3, 4), y + F(1, 2)), (8, 4), clamp) + 1000 * at(x * y)
                      for y in range(4) for x in range(8)], rel=1e-6)
    return case


CASES = [texture_spmv, texture_rotate, surface_blur, texture_layers, texture_reference]
