#!/usr/bin/env python3
"""Takes one instruction of each kind and chip from cubins, with the text that cuobjdump prints, and writes words.txt.

    python3 words.py CUOBJDUMP FOLDER >words.txt

FOLDER holds files NAME.CHIP.cubin. A kind is a mnemonic with its modifiers and the kinds of its operands.
"""
import glob
import re
import subprocess
import sys

CHIPS = ['75', '80', '86', '89', '90a', '100a', '120a']
LINE = re.compile(r'/\*([0-9a-f]{4,})\*/\s+(.*?) ?;\s+/\* 0x([0-9a-f]{16}) \*/\s+/\* 0x([0-9a-f]{16}) \*/')


def kind(text):
    text = re.sub(r'^@!?U?P\w+ ', '@ ', text)
    text = re.sub(r'-?0x[0-9a-f]+|(?<![\w.])-?[0-9][\w.+-]*', '#', text)
    return re.sub(r'\b(UR|R|UP|P|B|SB)(?:\d+|Z|T)\b', r'\1', text).replace('.reuse', '')


print('# Chip, address, word and text of instructions that ptxas of CUDA 13.0 wrote, as cuobjdump 13.5 prints them.')
for chip in CHIPS:
    seen = {}
    for path in sorted(glob.glob(f'{sys.argv[2]}/*.{chip}.cubin')):
        listing = subprocess.run([sys.argv[1], '-sass', path], capture_output=True, text=True).stdout
        for address, text, low, high in LINE.findall(listing):
            # Some numbers are followed by a blank.
            text = re.sub(r'(INF|NAN|-0\.0) (?=,|$)', r'\1', text).rstrip()
            seen.setdefault(kind(text), (address, high + low, text))
    for address, word, text in sorted(seen.values(), key=lambda x: x[2]):
        print(re.sub(r'\D', '', chip), address, word, text)
