"""How this process keeps memory between two steps, whose batches are hardly ever of the same shape.

A step needs arrays of 100 MB (rows times vocabulary), and they are made anew for each new shape. Left to themselves,
glibc gives such memory back to the system and fetches it again, zeroed, a page fault for every 4 KiB, and MXNet keeps
one oneDNN primitive for every shape that it has seen. In bfloat16 each of those holds a float32 copy of its result: 120
MB for every new number of rows, without bound, which made bfloat16 slower than float32. Measured on 14 batches of
Multi30k's lengths (4096 tokens, tiny, one rank), seen for the first time, in seconds of processor time per 1000 tokens:
float32 0.184 before and 0.155 after, bfloat16 0.198 before and 0.135 after; resident memory of bfloat16 2.8 GB and
growing before, 2.2 GB after.
"""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # malloc.h of glibc
_LARGEST = 2**31 - 1
CACHED_PRIMITIVES = 16
"""Of each kind: those of one step, about. The code that oneDNN generates is kept by a cache of its own."""


@lru_cache(maxsize=1)
def reuse_memory() -> bool:
    """Let freed memory be used again by this process. Gives whether the C library can.

    To be called before MXNet works or a vocabulary is learned: the number of arenas is settled with the first thread.
    MXNET_MKLDNN_CACHE_NUM stays as it is when the environment has it already.
    """
    os.environ.setdefault("MXNET_MKLDNN_CACHE_NUM", str(CACHED_PRIMITIVES))
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    # One arena: those of threads cannot hold arrays of this size without mmap.
    wanted = ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _LARGEST), (_M_ARENA_MAX, 1))
    answers = [mallopt(option, value) for option, value in wanted]
    return answers == [1, 1, 1]


def give_back() -> None:
    """Return to the system what lies free between blocks in use, where the C library can.

    Arrays of ever new sizes leave gaps that no later array fits: with tiny on Multi30k (half of 8192 tokens, bfloat16)
    1.1 GB in use and 3.1 GB of gaps after 80 steps, and more later. To fetch them again cost 8 s of processor time, as
    much as 16 steps; so this is for when memory is scarce.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
