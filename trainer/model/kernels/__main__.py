"""Compiles the kernels, so that no training waits for it: `python -m trainer.model.kernels`."""

from __future__ import annotations

import sys

from trainer.model.kernels.compiler import CompileError, compiled

if __name__ == "__main__":
    try:
        print(compiled())
    except CompileError as error:
        print(f"there are no fused kernels, and training will be slower: {error}", file=sys.stderr)
