"""`python -m trainer`."""

import os
import sys

from trainer.cli import main


def run() -> int:
    """The exit code; output that nobody reads to its end, as in `| head`, ends quietly with 1."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the interpreter's end
        return 1


if __name__ == "__main__":
    raise SystemExit(run())
