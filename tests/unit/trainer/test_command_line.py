"""The command line as a process: what others see when they pipe it."""

from __future__ import annotations

import subprocess
import sys

HELP = [sys.executable, "-m", "trainer", "train", "--help"]


def test_help_tells_every_setting_and_succeeds() -> None:
    done = subprocess.run(HELP, capture_output=True, text=True, check=True)
    assert "stop.validate_every_steps: 0" in done.stdout
    assert done.stderr == ""


def test_a_reader_that_goes_away_ends_it_without_a_traceback() -> None:
    with subprocess.Popen(HELP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # long before anything is written: the interpreter has hardly begun
        assert process.stderr.read() == ""
    assert process.returncode == 1
