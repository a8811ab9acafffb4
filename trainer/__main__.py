"""Runs the trainer's commands: `python -m trainer`."""

import os
import sys

from trainer.cli import main


def run() -> int:
    """Returns the exit code of the command. 1, without a message: nobody reads the output (`| head`)."""
    # MXNet imports SciPy and scikit-learn where they are installed. The trainer does not use them: a fifth of a start.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes it when it ends
        return 1


if __name__ == "__main__":
    raise SystemExit(run())
