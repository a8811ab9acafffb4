"""Compiles the kernels, so that no training waits for it: `python -m trainer.model.kernels`.

`--for-all INTO` compiles them for every level of x86-64 instead, into the folder INTO: nodes without a compiler get
these libraries with the wheelhouse.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trainer.model.kernels.compiler import LEVELS, CompileError, compile_to, compiled, name_for


def main() -> int:
    """Compiles the kernels. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m trainer.model.kernels")
    parser.add_argument("--for-all", type=Path, metavar="INTO", help="compile for every level of x86-64 into a folder")
    into = parser.parse_args().for_all
    try:
        if into is None:
            print(compiled())
        else:
            for level in LEVELS:
                compile_to(into / name_for(level), level)
                print(into / name_for(level))
    except CompileError as error:
        print(f"there are no fused kernels, and training will be slower: {error}", file=sys.stderr)
        return 0 if into is None else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
