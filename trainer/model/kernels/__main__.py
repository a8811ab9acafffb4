"""Compiles the fused kernels, so that no training has to wait for it: `python -m trainer.model.kernels`."""

from __future__ import annotations

import sys

from trainer.model.kernels import CompileError, compiled

if __name__ == "__main__":
    try:
        print(compiled())
    except CompileError as error:
        print(f"no fused kernels, training will be slower: {error}", file=sys.stderr)
