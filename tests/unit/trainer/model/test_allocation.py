"""Memory that is freed is used again: large arrays cost page faults once and not at every step."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from trainer.model.allocation import reuse_memory
if sys.argv[1] == "reused" and not reuse_memory():
    print("no mallopt")
    raise SystemExit
import numpy as np
np.ones(10_000_000, dtype=np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(10_000_000, dtype=np.float32)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

GIVEN_BACK = """
from trainer.model.allocation import give_back
from trainer.model.allocation import reuse_memory
from trainer.node.memory import resident_bytes
if not reuse_memory():
    print("no mallopt")
    raise SystemExit
import numpy as np
arrays = [np.ones(2_500_000, dtype=np.float32) for _ in range(40)]
arrays = arrays[1::2]
before = resident_bytes()
give_back()
print(before - resident_bytes())
"""


def measured(program: str, *arguments: str) -> int:
    """Returns what a program prints in its own process."""
    command = [sys.executable, "-c", program, *arguments]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if printed == "no mallopt":
        pytest.skip("this C library has no mallopt")
    return int(printed)


def test_a_large_array_after_another_costs_no_page_faults() -> None:
    """Measures the page faults of making and dropping 40 MB ten times."""
    faults = measured(FAULTS, "reused")
    assert faults < 100
    assert measured(FAULTS, "as it comes") > faults


def test_what_lies_free_between_arrays_can_be_given_back() -> None:
    assert measured(GIVEN_BACK) > 0.9 * 20 * 10_000_000
