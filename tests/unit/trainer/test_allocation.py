"""Memory that is freed is used again: large arrays cost page faults once and not at every step."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import resource, sys
from trainer.allocation import reuse_memory
if sys.argv[1] == "reused" and not reuse_memory():
    print(-1)
    raise SystemExit
import numpy as np
np.ones(10_000_000, dtype=np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(10_000_000, dtype=np.float32)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


FRAGMENT = """
from trainer.allocation import give_back, reuse_memory
from trainer.memory import resident_bytes
if not reuse_memory():
    print(-1)
    raise SystemExit
import numpy as np
arrays = [np.ones(2_500_000, dtype=np.float32) for _ in range(40)]
arrays = arrays[1::2]
before = resident_bytes()
give_back()
print(before - resident_bytes())
"""


def page_faults(how: str) -> int:
    """Of making and dropping 40 MB ten times, in a process of its own."""
    return int(subprocess.run([sys.executable, "-c", MEASURE, how], capture_output=True, text=True, check=True).stdout)


def test_a_large_array_after_another_costs_no_page_faults() -> None:
    faults = page_faults("reused")
    if faults < 0:
        pytest.skip("this C library has no mallopt")
    assert faults < 100
    assert page_faults("as it comes") > faults


def test_what_lies_free_between_arrays_can_be_given_back() -> None:
    given = int(subprocess.run([sys.executable, "-c", FRAGMENT], capture_output=True, text=True, check=True).stdout)
    if given < 0:
        pytest.skip("this C library has no mallopt")
    assert given > 0.9 * 20 * 10_000_000
