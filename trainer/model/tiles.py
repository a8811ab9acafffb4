"""The matrix tiles (AMX) of Intel's processors since Sapphire Rapids, as in m7i, c7i and r7i, for bfloat16.

Two things keep MXNet from them:

- Linux gives a process the tiles when it asks, for itself and the processes that it forks, until one of them executes
  another program (https://docs.kernel.org/arch/x86/xstate.html). A process that uses them unasked ends by SIGILL.
- oneDNN 2.4, which is in MXNet 1.9, never asks, and uses them only where DNNL_MAX_CPU_ISA says so.

`make bench-trainer` tells what they bring.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import lru_cache

from trainer.model.kernels import processor

ISA, WITH_TILES = "DNNL_MAX_CPU_ISA", "AVX512_CORE_AMX"
_SYS_ARCH_PRCTL = 158  # asm/unistd_64.h, the same on every x86-64
_ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA = 0x1023, 18  # asm/prctl.h, asm/fpu/types.h of Linux


@lru_cache(maxsize=1)
def use_tiles() -> bool:
    """Lets oneDNN compute in tiles where processor and system have them. Returns whether this process may use them.

    It has to be called before the first operation of MXNet, when oneDNN reads its variable. Where the environment has
    the variable, it stays as it is, and the tiles are used only if it names them.
    """
    if platform.machine() != "x86_64" or not processor.has("amx_bf16") or not _permitted():
        return False
    return os.environ.setdefault(ISA, WITH_TILES) == WITH_TILES


def _permitted() -> bool:
    """Asks Linux for the tiles. Before Linux 5.16, and in some sandboxes, the answer is no."""
    answer: int = ctypes.CDLL(None).syscall(_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA)
    return answer == 0
