#!/usr/bin/env python3
"""Finds how machine instructions are encoded, by changing bits and reading what nvdisasm makes of them.

    python3 solve.py --tools BIN --cubins FOLDER --out forms.txt [--chips 80,90a] [--opcodes 214,b12]

BIN holds nvdisasm and cuobjdump (`pip install nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump`), FOLDER cubins that ptxas made,
named NAME.CHIP.cubin, such as saxpy.90a.cubin. Words to start from come out of the cubins, a few per opcode and shape; all
else is found by asking: which bits change a number, which a modifier, which belong together, which values do not exist,
what hides itself. A form that cannot be read as pieces and independent choices is split at a bit. What was learned is
tried on random words of each form, and then on all words of the cubins; the log has what differs. With --opcodes those
alone are looked for, and take the place of what the file has of them.

Nothing of the tables, code or texts of nvdisasm goes into the result: it has what stands in its listings.
`src/encoding.rs` says what the lines of the result mean.
"""
import argparse
import difflib
import glob
import math
import os
import pickle
import random
import re
import struct
import subprocess
import tempfile
import time
from collections import Counter
from itertools import combinations

TOKEN = re.compile(r'''
   (?P<L>\.\w+|\{[\d,]+\})
 | (?P<I>-?0x[0-9a-f]+)
 | (?P<F>[+-](?:INF|[SQ]NAN)\b\ ?|-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+|-?\d+(?![\w.]))
 | (?P<U>\bUR(?:\d+|Z)\b)
 | (?P<R>\bR(?:\d+|Z)\b)
 | (?P<Q>\bUP(?:\d|T)\b)
 | (?P<P>\bP(?:\d|T)\b)
 | (?P<B>\bB\d+\b)
 | (?P<S>\bSB\d+\b)
 | (?P<W>rel:|[A-Za-z_]\w*|,\ |\s+|.)
''', re.X)
NUM = set('IFURQPBS')

def toks(text):
    out = []
    for m in TOKEN.finditer(text):
        k = m.lastgroup
        if k == 'W': k = 'L'
        out.append((k, m.group()))
    return out

def shape(ts):
    return [k if k in NUM else s for k, s in ts]

NOP = 0x000FC000_00000000_00000000_00007918
WORD = 16


class Oracle:
    """Asks nvdisasm, many words at once, and remembers."""

    def __init__(self, chip, exe):
        self.chip, self.exe, self.cache, self.asked = chip, exe, {}, 0

    def ask(self, words):
        """The text of each word; None where it is illegal."""
        need = [w for w in dict.fromkeys(words) if w not in self.cache]
        for at in range(0, len(need), 30000):
            self.ask_some(need[at:at + 30000])
        return {w: self.cache[w] for w in words}

    def ask_some(self, part):
        self.asked += len(part)
        image = bytearray(b''.join(w.to_bytes(WORD, 'little') for w in part))
        illegal = set()
        # An illegal word makes it refuse all, but it names the addresses.
        for _ in range(6):
            with tempfile.NamedTemporaryFile(suffix='.bin') as file:
                file.write(image)
                file.flush()
                command = [self.exe, '-b', 'SM' + self.chip, '-ndf', file.name]
                run = subprocess.run(command, capture_output=True, text=True, errors='replace')
            new = {int(x, 16) // WORD for x in re.findall(r'at address 0x([0-9a-f]+)', run.stderr)}
            if run.returncode == 0 and not new:
                break
            if not new:
                raise RuntimeError(run.stderr[:500])
            for i in new:
                illegal.add(i)
                image[WORD * i:WORD * i + WORD] = NOP.to_bytes(WORD, 'little')
        lines = re.findall(r'/\*([0-9a-f]{4,})\*/\s+(.*?) ?;[^\S\n]*$', run.stdout, re.M)
        got = {int(a, 16) // WORD: t for a, t in lines}
        for i, w in enumerate(part):
            text = None if i in illegal else got.get(i)
            self.cache[w] = None if text is None else normal(text, i * WORD)


RELATIVE = re.compile(r'^(@!?U?P\w+ )?(BRA|BSSY|CALL\.REL|RET\.REL|WARPSYNC\.COLLECTIVE|LEPC)\b')


def normal(t, address):
    """A text without what depends on the address, on spaces, or on the name that a trivial product is given."""
    t = re.sub(r'(INF|NAN|-0\.0) (?=,|$)', r'\1', t).rstrip()
    t = re.sub(r'^((?:@!?U?P\w+ )?U?IMAD)\.(MOV|IADD|SHL)\b', r'\1', t)
    target = re.search(r'-?0x[0-9a-f]+$', t) if RELATIVE.match(t) else None
    if target:
        v = (int(target.group(), 16) - address - WORD) % (1 << 64)
        v -= (v >> 63) << 64
        t = t[:target.start()] + 'rel:' + (f'-0x{-v:x}' if v < 0 else f'0x{v:x}')
    return t


def operands(ts):
    """Slices: the head up to the mnemonic's end, then one per operand, without what separates them."""
    out, start, depth, head = [], 0, 0, True
    for i, (k, s) in enumerate(ts):
        if s in '[{': depth += 1
        if s in ']}': depth -= 1
        if head and s == ' ':
            out.append((start, i)); start = i + 1; head = False
        elif not head and s == ', ' and depth == 0:
            out.append((start, i)); start = i + 1
    out.append((start, len(ts)))
    return out

def seqdiff(a, b, off):
    """Edits that make b of a: (i1, i2, tokens), numbers of one kind being equal."""
    sa, sb = shape(a), shape(b)
    edits, nums = [], []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, sa, sb, autojunk=False).get_opcodes():
        if tag == 'equal':
            for i, j in zip(range(i1, i2), range(j1, j2)):
                if a[i] != b[j]: nums.append((off + i, b[j][1]))
        else:
            edits.append((off + i1, off + i2, tuple(b[j1:j2])))
    return edits, nums

def diff(a, b):
    """Edits and changed numbers between token lists."""
    oa, ob = operands(a), operands(b)
    edits, nums = [], []
    def one(i, j):
        (s, e), (t, f) = oa[i], ob[j]
        x, y = seqdiff(a[s:e], b[t:f], s)
        edits.extend(x); nums.extend(y)
    if len(oa) == len(ob):
        for i in range(len(oa)): one(i, i)
        return edits, nums
    one(0, 0)
    A1 = [a[s:e] for s, e in oa]; B1 = [b[s:e] for s, e in ob]
    n, m = len(oa), len(ob)
    INF = 10 ** 9
    cost = [[INF] * (m + 1) for _ in range(n + 1)]
    cost[1][1] = 0
    move = {}
    def pair(x, y):
        if x == y: return 0
        if shape(x) == shape(y): return 1
        if x[0][0] == y[0][0] or shape(x)[-1] == shape(y)[-1]: return 3
        return 6
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if (i, j) == (1, 1): continue
            best = []
            if i > 1: best.append((cost[i - 1][j] + 2, 'd'))
            if j > 1: best.append((cost[i][j - 1] + 2, 'i'))
            if i > 1 and j > 1: best.append((cost[i - 1][j - 1] + pair(A1[i - 1], B1[j - 1]), 'm'))
            cost[i][j], move[i, j] = min(best)
    i, j = n, m
    path = []
    while (i, j) != (1, 1):
        k = move[i, j]; path.append((k, i - 1, j - 1))
        if k in 'dm': i -= 1
        if k in 'im': j -= 1
    path.reverse()
    # Runs of what goes.
    k = 0
    while k < len(path):
        what, i, j = path[k]
        if what == 'm': one(i, j); k += 1; continue
        e = k
        while e < len(path) and path[e][0] == what: e += 1
        if what == 'd':
            i1, i2 = path[k][1], path[e - 1][1] + 1
            if i1 == 1 and i2 < n: edits.append((oa[1][0], oa[i2][0], ()))
            else: edits.append((oa[i1 - 1][1], oa[i2 - 1][1], ()))
        else:
            j1, j2 = path[k][2], path[e - 1][2] + 1
            at = i + 1
            if at == 1 and n > 1 and j2 < m: edits.append((oa[1][0], oa[1][0], tuple(b[ob[j1][0]:ob[j2][0]])))
            else: edits.append((oa[at - 1][1], oa[at - 1][1], tuple(b[ob[j1 - 1][1]:ob[j2 - 1][1]])))
        k = e
    return edits, nums

def apply(base, edits, nums):
    out = []
    nums = dict(nums)
    edits = sorted(edits, key=lambda e: (e[0], e[1]))
    i = 0; k = 0
    n = len(base)
    while i <= n:
        while k < len(edits) and edits[k][0] == i and edits[k][1] == i:
            out += [s for _, s in edits[k][2]]; k += 1
        if k < len(edits) and edits[k][0] < i: return None   # overlap
        if k < len(edits) and edits[k][0] == i:
            out += [s for _, s in edits[k][2]]; i = edits[k][1]; k += 1
            continue
        if i < n: out.append(nums.get(i, base[i][1]))
        i += 1
    return ''.join(out)


FIELD_BITS = list(range(16, 105)) + [122, 123, 124, 125]
GUARD = 7 << 12

# Scheduling that every instruction may have: a stall of 1 and no barrier.
CONTROL = 0x000fe20000000000 << 64
CONTROL_BITS = ((1 << 17) - 1) << 105
def plain(w): return w & ~(15 << 12) & ~CONTROL_BITS | GUARD | CONTROL

class SplitAt(Exception):
    def __init__(self, bit, base, why): self.bit, self.base, self.why = bit, base, why

def set_bits(w, bits, v):
    for i, b in enumerate(bits):
        w = (w | 1 << b) if v >> i & 1 else (w & ~(1 << b))
    return w

def get_bits(w, bits): return sum((w >> b & 1) << i for i, b in enumerate(bits))

def head(t): return toks(t)[0][1]
def text_bad(t): return 'INVALID' in t or '???' in t or 'nvalid' in t

# Numbers as they are printed.
def fmt_g(x):
    if math.isinf(x): return '+INF' if x > 0 else '-INF'
    if x == 0: return '-0.0' if math.copysign(1, x) < 0 else '0'
    s = f'{x:.20g}' if abs(x) < 1e9 else f'{x:.20e}'
    return s
def f32(v):
    x = struct.unpack('<f', struct.pack('<I', v))[0]
    if math.isnan(x): return ('-' if v >> 31 else '+') + ('QNAN' if v >> 22 & 1 else 'SNAN')
    return fmt_g(x)
def f16(v):
    x = struct.unpack('<e', struct.pack('<H', v))[0]
    if math.isnan(x): return ('-' if v >> 15 else '+') + ('QNAN' if v >> 9 & 1 else 'SNAN')
    return fmt_g(x)
def bf16(v):
    return f32(v << 16)
def f64(v):
    x = struct.unpack('<d', struct.pack('<Q', v << 32))[0]
    if math.isnan(x): return ('-' if v >> 31 else '+') + ('QNAN' if v >> 19 & 1 else 'SNAN')
    return fmt_g(x)
FLOATS = {'f32': (32, f32), 'f64': (32, f64), 'f16': (16, f16), 'bf16': (16, bf16)}

def number(field, w):
    """The text of a field of word w."""
    kind, bits, info = field
    v = get_bits(w, bits)
    n = len(bits)
    if kind == 'F':
        size, fn = FLOATS[info]
        return fn(v) if n == size else '?'
    if kind == 'I':
        unit, signed = info
        if signed and v >> n - 1: v -= 1 << n
        v *= unit
        return f'-0x{-v:x}' if v < 0 else f'0x{v:x}'
    top = (1 << n) - 1
    if kind in 'RU': return {'R': 'R', 'U': 'UR'}[kind] + ('Z' if v == top and info else str(v))
    if kind in 'PQ': return {'P': 'P', 'Q': 'UP'}[kind] + ('T' if v == 7 else str(v))
    return {'B': 'B', 'S': 'SB'}[kind] + str(v)

class Leaf: pass

def render(leaf, w):
    """The text of a word by what was learned; None where a value is not known."""
    A = leaf.A
    cut = []     # (i1, i2, text)
    for bits, table in leaf.slots:
        v = get_bits(w, bits)
        if v in table['values']:
            e = table['values'][v]
            if e is not None: cut.append((table['range'][0], table['range'][1], e))
        elif not table['open']: return None
    # The widest first; what lies in it is gone.
    cut.sort(key=lambda c: (c[0], -(c[1] - c[0]), c[2] != ''))
    out, i, n = [], 0, len(A)
    at = {}
    for c in cut: at.setdefault(c[0], []).append(c)
    i = 0
    while i <= n:
        here = at.get(i, [])
        ins = [c for c in here if c[0] == c[1]]
        for c in ins: out.append(c[2])
        wide = [c for c in here if c[1] > c[0]]
        if wide:
            c = max(wide, key=lambda c: c[1])
            out.append(c[2]);
            # insertions at positions inside vanish
            i = c[1]
            # avoid repeating what starts at the end: continue the loop
            continue
        if i < n: out.append(number(leaf.fields[i], w) if i in leaf.fields else A[i][1])
        i += 1
    return ''.join(out)

def learn(base, fixed):
    """A generator: yields lists of words, is sent {word: text}; returns a Leaf or raises SplitAt."""
    cands = [plain(b) for b in base]
    ans = yield cands
    cands = [b for b in cands if ans[b] is not None and not text_bad(ans[b])]
    if not cands: return None
    base = cands[0]
    ans = yield [base, base & ~GUARD, base & ~(7 << 122)]
    guard = None
    if ans[base & ~GUARD]:
        m = re.match(r'@(U?)P0 ', ans[base & ~GUARD])
        guard = None if not m else ('UP' if m.group(1) else 'P')
    T = ans[base]
    if T is None: return None
    if text_bad(T): return None
    free = [b for b in FIELD_BITS if b not in fixed]
    def score(t): return len(toks(t)) - (20 if text_bad(t) else 0)
    H = head(T)
    for turn in range(3):
        before = base
        for _ in range(16):
            flips = {b: base ^ (1 << b) for b in free}
            ans = yield list(flips.values())
            best = None
            for b, w in flips.items():
                t = ans[w]
                if t and head(t) == H and score(t) > score(T) and (best is None or score(t) > score(ans[best])): best = w
            if best is None: break
            base, T = best, ans[best]
        # Numbers far from those that hide or are of a kind of their own.
        for round in range(3):
            A = toks(T)
            flips = {b: base ^ (1 << b) for b in free}
            ans = yield list(flips.values())
            of = {}
            for b in free:
                t = ans[flips[b]]
                if t is None or t == T or head(t) != H: continue
                e, n = diff(A, toks(t))
                if not e and (len(n) == 1 or (len(n) == 2 and n[0][1] == n[1][1])): of.setdefault(n[0][0], []).append(b)
            w = base
            for i, bits in of.items():
                # with the bits that hide it
                for b in free:
                    t = ans[flips[b]]
                    if b in bits or not t or not (bits[0] - 8 <= b <= bits[-1] + 8) or head(t) != H: continue
                    e, n = diff(A, toks(t))
                    if e and not n and any(i1 <= i < i2 for i1, i2, _ in e) and (b + 1 in bits or b - 1 in bits): bits.append(b)
                bits.sort()
                n = len(bits)
                w = set_bits(w, bits, (0x5555555555555555 if A[i][0] != 'I' else 0x2d5a5a5a5a5a5a5a if round else 0x5a5a5a5a5a5a5a5a) & ((1 << n) - 1) if n > 3 else 0 if A[i][0] == 'S' else (2, 1, 4, 3, 5, 6)[sorted(of).index(i) % 6])
            if w == base: break
            a = yield [w]
            if a[w] and head(a[w]) == H and shape(toks(a[w])) == shape(A): base, T = w, a[w]
            else:
                for i, bits in of.items():
                    n = len(bits)
                    w = set_bits(base, bits, 0x5555555555555555 & ((1 << n) - 1) if n > 3 else 0 if A[i][0] == 'S' else (2, 1, 4, 3, 5, 6)[sorted(of).index(i) % 6])
                    a = yield [w]
                    if a[w] and head(a[w]) == H and shape(toks(a[w])) == shape(A): base, T = w, a[w]
        if base == before: break
    A = toks(T)
    flips = {b: base ^ (1 << b) for b in free}
    ans = yield list(flips.values())
    effect, numeric, illegal, dontcare, twin = {}, {}, [], [], {}
    def number_edits(b):
        i, s = numeric[b]
        return [(k, k + 1, ((A[k][0], s),)) for k in (i, twin.get(i)) if k is not None]
    for b in free:
        t = ans[flips[b]]
        if t is None: illegal.append(b); continue
        if t == T: dontcare.append(b); continue
        if head(t) != H: raise SplitAt(b, base, f'{T} -> {t}')
        if text_bad(t): illegal.append(b); continue
        e, n = diff(A, toks(t))
        if not e and len(n) == 1: numeric[b] = n[0]
        elif not e and len(n) == 2 and n[0][1] == n[1][1] and A[n[0][0]] == A[n[1][0]]:
            numeric[b] = n[0]
            twin[n[0][0]] = n[1][0]
        else: effect[b] = (e, n)
    for b, (e, n) in effect.items():
        if n or any(x[0] in NUM for q in e for x in q[2]): raise SplitAt(b, base, f'{T} -> {ans[flips[b]]}')
    # Numbers.
    by_tok = {}
    for b, (i, s) in numeric.items(): by_tok.setdefault(i, []).append((b, s))
    fields = {}
    for i, bs in by_tok.items():
        kind = A[i][0]
        if kind == 'F':
            fields[i] = [kind, sorted(b for b, _ in bs), 'f32' if len(bs) == 32 else 'f16']; continue
        n = len(bs)
        num = lambda s: int(s, 16) if kind == 'I' else (((1 << n) - 1) if s.endswith('Z') else 7 if s.endswith('T') else int(re.sub(r'\D', '', s)))
        v0 = num(A[i][1])
        d = {b: (num(s) - v0) * (1 if not base >> b & 1 else -1) for b, s in bs}
        bits = sorted(d, key=lambda b: abs(d[b]))
        unit = abs(d[bits[0]])
        signed = d[bits[-1]] < 0
        good = all(abs(d[b]) == unit << k for k, b in enumerate(bits)) and all(d[b] > 0 for b in bits[:-1]) and (kind == 'I' or (unit == 1 and not signed))
        if not good:
            # Steps of another kind: an enumeration if there are few bits.
            if n <= 8:
                for b, _ in bs: effect[b] = ([], [numeric[b]])
                continue
            raise SplitAt(bs[0][0], base, f'weights {T} {d}')
        fields[i] = [kind, bits, (unit, signed) if kind == 'I' else True]
    for i, j in twin.items():
        if i in fields: fields[j] = fields[i]
    # Which modifiers belong together.
    M = sorted(effect)
    def edits(b):
        e, n = effect[b]
        return e + [(i, i + 1, ((A[i][0], s),)) for i, s in n]
    pairs = {}
    for i, j in combinations(M, 2): pairs[i, j] = base ^ (1 << i) ^ (1 << j)
    for i in illegal:
        for j in M + illegal:
            if i != j: pairs[min(i, j), max(i, j)] = base ^ (1 << i) ^ (1 << j)
    ans2 = yield list(set(pairs.values()))
    parent = {b: b for b in M}
    def find(x):
        while parent[x] != x: x = parent[x]
        return x
    for (i, j), w in pairs.items():
        t = ans2[w]
        if i in effect and j in effect:
            same = t is not None and t in both(A, edits(i), edits(j))
            if not same: parent[find(i)] = find(j)
        elif t is not None and not text_bad(t):
            for x in (i, j):
                if x not in parent: parent[x] = x
            parent[find(i)] = find(j)
    groups = {}
    for b in parent: groups.setdefault(find(b), []).append(b)
    groups = [sorted(g) for g in groups.values()]
    tests = {}
    for i, f in fields.items():
        for fb in {f[1][0], f[1][-1], f[1][len(f[1]) // 2]}:
            for mb in M: tests[fb, mb, i] = base ^ (1 << fb) ^ (1 << mb)
    ans3 = yield list(set(tests.values()))
    for (fb, mb, i), w in tests.items():
        if ans3[w] not in both(A, edits(mb), number_edits(fb)):
            raise SplitAt(mb, base, f'{T} meets {fb}: {ans3[w]}')
    leaf = Leaf()
    leaf.base, leaf.A, leaf.fixed, leaf.fields, leaf.guard = base, A, dict(fixed), fields, guard
    for b in set(illegal) - set(parent): leaf.fixed[b] = base >> b & 1
    leaf.slots = []
    for g in groups:
        if len(g) > 9: raise SplitAt(g[-1], base, f'{T} many bits {g}')
    allw = {(gi, v): set_bits(base, g, v) for gi, g in enumerate(groups) for v in range(1 << len(g))}
    ans4 = yield list(set(allw.values()))
    for gi, g in enumerate(groups):
        variants = {}
        for v in range(1 << len(g)):
            w = allw[gi, v]; t = ans4[w]
            if t is None or text_bad(t): continue
            if head(t) != H: raise SplitAt(pick(g, v, base), base, f'{T} -> {t} in group')
            e, n = diff(A, toks(t))
            e = e + [(i, i + 1, ((A[i][0], s),)) for i, s in n]
            if any(x[0] in NUM for i1, i2, new in e for x in new if not (i2 == i1 + 1 and len(new) == 1 and i1 not in fields)):
                raise SplitAt(pick(g, v, base), base, f'{T} -> {t} in group, numbers')
            for i1, i2, new in e:
                if sum(1 for q in e if q[0] < i2 and i1 < q[1]) > 1: raise SplitAt(pick(g, v, base), base, f'{T} -> {t} in group, overlap')
            variants[v] = e
        add_slots(leaf, g, variants, A, False)
        far = {}
        for v, e in variants.items():
            if v == get_bits(base, g): continue
            for mb in M:
                if mb not in g: far[v, mb, None] = allw[gi, v] ^ (1 << mb)
            for i, f in fields.items():
                for fb in {f[1][0], f[1][-1]} & set(numeric): far[v, fb, i] = allw[gi, v] ^ (1 << fb)
        a = yield list(far.values())
        for (v, b, i), w in far.items():
            t = a[w]
            if t is None or text_bad(t): continue
            other = edits(b) if i is None else number_edits(b)
            if t not in both(A, variants[v], other):
                raise SplitAt(pick(g, v, base), base, f'{ans4[allw[gi, v]]} -> {t}: value {v} of {g} meets {b}')
        quiet = {}
        for d in dontcare:
            for v in variants:
                quiet[d, v] = allw[gi, v] ^ (1 << d)
        a = yield list(quiet.values())
        for (d, v), w in quiet.items():
            if a[w] is not None and a[w] != ans4[allw[gi, v]]:
                if v == get_bits(base, g): continue
                raise SplitAt(pick(g, v, base), base, f'{ans4[allw[gi, v]]} -> {a[w]}: bit {d} was quiet')
    # Numbers that hide, alone and together.
    ops = operands(A)
    op_of = {i: next((k for k, (s, e) in enumerate(ops) if s <= i <= e), 0) for i in range(len(A) + 1)}
    single = {}
    for i, (kind, bits, _) in fields.items():
        n = len(bits)
        if kind == 'F': continue
        for v in {0, (1 << n) - 1}: single[i, v] = set_bits(base, bits, v)
    ans5 = yield list(set(single.values()))
    special = {}
    for (i, v), w in single.items():
        t = ans5[w]
        if t is None: continue
        if t != render(leaf, w) and not text_bad(t):
            e, n = diff(A, toks(t))
            n = [x for x in n if x[0] != i and x[0] != twin.get(i)]
            if n or any(x[0] in NUM for q in e for x in q[2]):
                one = span(A, toks(t))
                if one is None: continue
                e = [one]
            special[i, v] = e
    for (i, v), e in special.items(): add_slots(leaf, fields[i][1], {v: e}, A, True)
    # Together: numbers of one operand with each other and with its modifiers; predicates of all operands.
    combos = {}
    def flipped(b): return (None, (b,), 1 - (base >> b & 1))
    sets = []
    for k in range(len(ops)):
        ch = [(i, tuple(bits), v) for i, (kind, bits, _) in fields.items() if op_of[i] == k and kind != 'F' for v in {0, (1 << len(bits)) - 1}]
        mods = [flipped(b) for b in M if any(op_of[q[0]] == k for q in edits(b))]
        sets.append(ch + (mods if len(mods) <= 5 else []))
    preds = [(i, tuple(bits), 7) for i, (kind, bits, _) in fields.items() if kind in 'PQ']
    pops = {op_of[i] for i, _, _ in preds}
    sets.append(preds + [flipped(b) for b in M if all(op_of[q[0]] in pops for q in edits(b))][:6] + ([flipped(b) for b in M if not all(op_of[q[0]] in pops for q in edits(b))] if len(M) <= 4 else []))
    for cand in sets:
        for r in (2, 3, 4):
            for c in combinations(cand, r):
                if len({x[1] for x in c}) < r or not any(x[0] is not None for x in c): continue
                if r == 4 and cand is not sets[-1]: continue
                w = base
                for _, bits, v in c: w = set_bits(w, bits, v)
                combos[c] = w
    ans6 = yield list(set(combos.values()))
    for c, w in sorted(combos.items(), key=lambda x: len(x[0])):
        t = ans6[w]
        if t is None or text_bad(t) or t == render(leaf, w): continue
        e = span(A, toks(t), leaf, w)
        if e is None: continue
        bits = [b for _, bs, _ in c for b in bs]
        v, sh = 0, 0
        for _, bs, x in c: v |= x << sh; sh += len(bs)
        add_slots(leaf, bits, {v: [e]}, A, True)
    # Floats: of which type.
    floats = [f for f in fields.values() if f[0] == 'F']
    if floats:
        ws = []
        for _ in range(16):
            w = base
            for f in floats: w = set_bits(w, f[1], random.getrandbits(len(f[1])))
            ws.append(w)
        a = yield ws
        best = None
        for name, (size, fn) in FLOATS.items():
            for f in floats:
                if len(f[1]) == size: f[2] = name
            n = sum(render(leaf, w) == a[w] for w in ws)
            if best is None or n > best[0]: best = (n, [f[2] for f in floats])
        for f, name in zip(floats, best[1]): f[2] = name
    # What was learned, on random words.
    ws = samples(leaf, 48)
    a = yield list(ws)
    leaf.wrong = [(w, a[w], render(leaf, w)) for w in ws if a[w] is not None and not text_bad(a[w]) and a[w] != render(leaf, w)]
    leaf.tested = len(ws)
    return leaf



ZERO = {'RZ', 'URZ', 'PT', 'UPT', '0x0'}
def span(A, ts, leaf=None, w=None):
    """One edit that makes these tokens of A; None where it would freeze a number."""
    i = 0
    while i < len(A) and i < len(ts) and A[i] == ts[i]: i += 1
    j = 0
    while j < len(A) - i and j < len(ts) - i and A[-1 - j] == ts[-1 - j]: j += 1
    a, b = i, len(A) - j
    new = ts[i:len(ts) - j]
    if leaf is not None:
        # What others cut here is replaced as well.
        for bits, table in leaf.slots:
            v = get_bits(w, bits)
            if table['values'].get(v) is None: continue
            x, y = table['range']
            if x < b and a < y or (x == y and a <= x <= b):
                while a > x: a -= 1; new = [A[a]] + new
                while b < y: new = new + [A[b]]; b += 1
    if any(x[0] in NUM and x[1] not in ZERO for x in new): return None
    return (a, b, tuple(new))

def add_slots(leaf, bits, variants, A, open_):
    """One slot for each range that a value edits. Where ranges lie in each other the wider wins."""
    ranges = sorted({(i1, i2) for e in variants.values() for i1, i2, _ in e})
    if not ranges and not open_ and len(variants) < 1 << len(bits): ranges = [(0, 0)]
    for r in ranges:
        values = {}
        for v, e in variants.items():
            here = [new for i1, i2, new in e if (i1, i2) == r]
            values[v] = ''.join(s for _, s in here[0]) if here else None
        leaf.slots.append((list(bits), {'range': r, 'values': values, 'open': open_}))

def both(A, x, y):
    """Texts that two independent changes together may give."""
    out = [apply(A, x + y, [])]
    if apply(A, y + x, []) not in out: out.append(apply(A, y + x, []))
    for p, q in ((x, y), (y, x)):
        keep = [e for e in q if not any(d[0] <= e[0] and e[1] <= d[1] and d[0] < d[1] for d in p)]
        if len(keep) < len(q): out.append(apply(A, p + keep, []))
    return out

def pick(g, v, base):
    for i, b in enumerate(g):
        if (v >> i & 1) != (base >> b & 1): return b
    return g[0]

def solve(oracle, seeds, log, fixed={}):
    """Leaves per key: seeds are words."""
    todo = []      # (key, fixed, base, depth)
    known, perkey = {}, {}
    for w in seeds: known.setdefault(w & 0xfff, []).append(w)
    for k, ws in known.items(): todo.append((k, dict(fixed), ws[:1], 0))
    fits = lambda w, fixed: all((w >> b & 1) == v for b, v in fixed.items())
    active, leaves = [], {}
    while todo or active:
        while todo and len(active) < 400:
            key, at, base, depth = todo.pop()
            g = learn(base, at)
            active.append([g, next(g), key, at, depth])
        ask = [w for a in active for w in a[1]]
        ans = oracle.ask(ask)
        nxt = []
        for a in active:
            g, words, key, at, depth = a
            try:
                a[1] = g.send({w: ans[w] for w in words}); nxt.append(a)
            except StopIteration as s:
                if s.value is not None: leaves.setdefault(key, []).append(s.value)
            except SplitAt as s:
                perkey[key] = perkey.get(key, 0) + 1
                if perkey[key] > 120 or depth > 30: log(f'key {key:03x}: too many leaves at {s.why}'); continue
                v = s.base >> s.bit & 1
                todo.append((key, {**at, s.bit: v}, [s.base], depth + 1))
                f = {**at, s.bit: 1 - v}
                o = s.base ^ (1 << s.bit)
                todo.append((key, f, [o] + [w for w in known[key] if fits(w, f)][:40] + [o ^ (1 << b) for b in range(64, 105) if b not in f], depth + 1))
                log(f'{key:03x} split {s.bit}: {s.why}')
        active = nxt
    return leaves

def read(leaves, w):
    """The text of a word by the first form that it is of."""
    for l in sorted(leaves.get(w & 0xfff, []), key=lambda l: -len(l.fixed)):
        if all((w >> b & 1) == v for b, v in l.fixed.items()):
            t = render(l, w)
            if t is not None: return t
    return None

def mend(oracle, leaves, words):
    """Forms for words that none of the others reads: with all that chooses among texts as it is in the word."""
    texts = oracle.ask(words)
    added = 0
    for w in words:
        if texts[w] is None or text_bad(texts[w]) or read(leaves, w) == texts[w]: continue
        of = leaves.get(w & 0xfff, [])
        if len(of) > 100 or added > 200: continue
        chosen = {b for l in of for bits, t in l.slots if not t['open'] for b in bits} | {b for l in of for b in l.fixed}
        chosen -= {b for l in of for f in l.fields.values() for b in f[1]} | set(range(122, 126))
        for fixed in ({b: w >> b & 1 for b in chosen}, {b: w >> b & 1 for b in range(64, 105)}):
            got = solve(oracle, [w], lambda text: None, fixed)
            new = [l for ls in got.values() for l in ls]
            if new and read(got, w) == texts[w]:
                leaves.setdefault(w & 0xfff, []).extend(new)
                added += 1
                break
    return added

def samples(leaf, n):
    """Random words of a form. Bits that do nothing vary as well."""
    used = {b for f in leaf.fields.values() for b in f[1]} | {b for bits, _ in leaf.slots for b in bits} | set(leaf.fixed)
    quiet = [b for b in FIELD_BITS if b not in used]
    ws = set()
    for _ in range(n):
        w = leaf.base
        for f in leaf.fields.values():
            r = random.random()
            if r < .6: w = set_bits(w, f[1], random.getrandbits(len(f[1])))
            elif r < .75: w = set_bits(w, f[1], (1 << len(f[1])) - 1)
            elif r < .85: w = set_bits(w, f[1], 0)
        for bits, table in leaf.slots:
            if not table['open'] and random.random() < .5: w = set_bits(w, bits, random.choice(list(table['values'])))
        for b in quiet:
            if random.random() < .1: w ^= 1 << b
        ws.add(w)
    return ws

def inherit(oracle, known):
    """The forms of another chip that hold on this one as well, for the opcodes of which all do."""
    of = {(k, i): samples(l, 60) for k, ls in known.items() for i, l in enumerate(ls)}
    texts = oracle.ask([w for ws in of.values() for w in ws])
    kept = {}
    for k, ls in known.items():
        good = []
        for i, l in enumerate(ls):
            wrong = [w for w in of[k, i] if texts[w] is not None and not text_bad(texts[w]) and texts[w] != render(l, w)]
            legal = [w for w in of[k, i] if texts[w] is not None]
            # As far as the chip that it was found on.
            good.append(len(wrong) <= len(l.wrong) + 1 and len(legal) * 2 >= len(of[k, i]) and (not wrong or l.wrong))
        if all(good): kept[k] = list(ls)
    return kept
SEP = '¦'

def runs(bits):
    out = []
    for b in bits:
        if out and out[-1][0] + out[-1][1] == b: out[-1][1] += 1
        else: out.append([b, 1])
    return '+'.join(f'{a}:{n}' if n > 1 else f'{a}' for a, n in out)

def form(leaf):
    """The block of a leaf without its key and chips."""
    toks = []
    for i, (k, s) in enumerate(leaf.A):
        if i in leaf.fields:
            kind, bits, info = leaf.fields[i]
            if kind == 'F': name = info
            elif kind == 'I': name = ('T' if i and leaf.A[i - 1][1] == 'rel:' else 'I') + (f'*{info[0]}' if info[0] != 1 else '') + ('s' if info[1] else '')
            else: name = {'R': 'R', 'U': 'UR', 'P': 'P', 'Q': 'UP', 'B': 'B', 'S': 'SB'}[kind]
            toks.append(f'<{name} {runs(bits)}>')
        elif s == 'rel:': toks.append('')
        else: toks.append(s)
    # Literals that nothing touches are one.
    edges = {0, len(toks)}
    for bits, t in leaf.slots: edges |= set(t['range'])
    merged, new, cur = [], {}, None
    for i, s in enumerate(toks):
        lit = i not in leaf.fields
        new[i] = len(merged)
        if lit and cur is not None and i not in edges: merged[cur] += s; new[i] = cur
        else:
            merged.append(s); cur = len(merged) - 1 if lit else None
            new[i] = len(merged) - 1
    new[len(toks)] = len(merged)
    is_ = ' '.join(f'{b}={v}' for b, v in sorted(leaf.fixed.items()))
    lines = [f'{leaf.guard or "-"} {is_}'.rstrip(), '  ' + SEP.join(merged)]
    for bits, t in sorted(leaf.slots, key=lambda x: (x[1]['range'], -len(x[0]), x[0])):
        a, b = t['range']
        vals = []
        for v, text in sorted(t['values'].items()):
            if text is None: text = '*'
            vals.append(f'{v}={text}')
        lines.append(f'  {runs(bits)} {new[a]}..{new[b]}{" else *" if t["open"] else ""}: ' + SEP.join(vals))
    return '\n'.join(lines)


def corpus(cuobjdump, folder, chip):
    """Words of the cubins of a chip with their texts."""
    seen = {}
    line = re.compile(r'/\*[0-9a-f]{4,}\*/\s+(.*?) ?;\s+/\* 0x([0-9a-f]{16}) \*/\s+/\* 0x([0-9a-f]{16}) \*/')
    for path in sorted(glob.glob(os.path.join(folder, f'*.{chip}.cubin'))):
        listing = subprocess.run([cuobjdump, '-sass', path], capture_output=True, text=True).stdout
        for text, low, high in line.findall(listing):
            seen.setdefault(plain(int(low, 16) | int(high, 16) << 64), text)
    return seen


def one_chip(chip, donor, options, log):
    words = corpus(os.path.join(options.tools, 'cuobjdump'), options.cubins, chip)
    if options.opcodes: words = {w: t for w, t in words.items() if w & 0xfff in options.opcodes}
    oracle = Oracle(chip, os.path.join(options.tools, 'nvdisasm'))
    began = time.time()
    leaves = inherit(oracle, donor)
    starts = {}
    for w, t in words.items():
        t = t.split(maxsplit=1)[1] if t.startswith('@') else t
        if w & 0xfff not in leaves: starts.setdefault((w & 0xfff, t.split()[0], t.count(','), 'UR' in t, 'c[' in t), w)
    # Opcodes that only the code of the other chip has.
    rest = [l.base for k, ls in donor.items() if k not in leaves for l in ls]
    inherited = len(leaves)
    leaves.update(solve(oracle, list(starts.values()) + rest, log))
    added = mend(oracle, leaves, list(words))
    forms = [l for ls in leaves.values() for l in ls]
    log(f'{chip}: {len(forms)} forms of {len(leaves)} opcodes, {inherited} taken over, {added} forms for single words, '
        f'{oracle.asked} words asked, {time.time() - began:.0f} s')
    for l in forms:
        for w, is_, got in l.wrong[:2]: log(f'{chip}: {w:032x} is {is_}, read as {got}')
    texts, wrong = oracle.ask(list(words)), Counter()
    for w, t in texts.items():
        if t != read(leaves, w): wrong[w & 0xfff] += 1
    log(f'{chip}: of {len(words)} words {sum(wrong.values())} differ: {wrong.most_common(20)}')
    return leaves


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tools', required=True)
    parser.add_argument('--cubins', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--chips', default='80,75,86,89,90a,100a,120a')
    parser.add_argument('--opcodes', type=lambda text: {int(key, 16) for key in text.split(',')}, default=set())
    options = parser.parse_args()
    # Forms of chips that are not looked at would be left out.
    if options.opcodes and options.chips != parser.get_default('chips'): parser.error('--opcodes needs all chips')
    random.seed(7)
    blocks, found = {}, {}
    for chip in options.chips.split(','):
        # Much is as on the chip before: the first of this encoding, or the one of data centres.
        donor = found.get('100a' if chip.startswith('12') else '80', {})
        found[chip] = one_chip(chip, donor, options, lambda text: print(text, flush=True))
        for key, leaves in found[chip].items():
            for i, leaf in enumerate(leaves):
                block = blocks.setdefault((key, form(leaf)), [[], 0, -len(leaf.fixed)])
                block[0].append(re.sub(r'\D', '', chip))
                block[1] = max(block[1], i)
    # Of forms that admit a word the one with more fixed bits counts, and then the one that was found first.
    in_order = sorted(blocks.items(), key=lambda x: (x[0][0], x[1][2], x[1][1], x[0][1]))
    # No line ends with a blank.
    texts = [(key, f'{key:03x} {",".join(chips)} {text}\n'.replace(' \n', ' #\n')) for (key, text), (chips, *_) in in_order]
    if options.opcodes: texts = sorted(others(options) + texts, key=lambda x: x[0])
    with open(options.out, 'w') as file: file.writelines(text for _, text in texts)


def others(options):
    """The blocks of a file that are of other opcodes than those looked for."""
    with open(options.out) as file: blocks = re.findall(r'^[0-9a-f]{3} .*\n(?: .*\n)*', file.read(), re.M)
    keyed = [(int(block[:3], 16), block) for block in blocks]
    return [(key, block) for key, block in keyed if key not in options.opcodes]


if __name__ == '__main__': main()
