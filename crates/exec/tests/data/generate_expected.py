"""Writes <name>.toml for every conformance kernel: `python3 generate_expected.py [NAME...]` (Python 3.11, standard library only).

The expected values come from the formulas in expected_*.py alone, with exact rational arithmetic where rounding matters;
no kernel and no emulator runs here.
"""

import sys

import expected_async
import expected_control
import expected_float
import expected_integer
import expected_memory
import expected_tensor
import expected_texture
import expected_warp

MODULES = [expected_integer, expected_float, expected_control, expected_memory, expected_warp,
           expected_async, expected_tensor, expected_texture]


def main():
    wanted = set(sys.argv[1:])
    for module in MODULES:
        for make in module.CASES:
            case = make()
            if not wanted or case.name in wanted:
                case.write()


main()
