"""The program of the process that runs one call of a function: `python program.py FOLDER HANDLER`.

It imports the standard library and the function's own code, and nothing of localcloud. FOLDER holds `code`, the
files `event.json` and `context.json`. The program writes what came of the call to `result.json`.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main(folder: Path, handler: str) -> int:
    """Calls the handler, and returns the exit status: 0 where it returned, 1 where it raised."""
    event, given = (json.loads((folder / name).read_text()) for name in ("event.json", "context.json"))
    ends_at = time.monotonic() + given.pop("timeout_s")
    context = SimpleNamespace(
        **given, get_remaining_time_in_millis=lambda: max(0, int(1000 * (ends_at - time.monotonic())))
    )
    sys.path[0] = str(folder / "code")
    try:
        module, _, name = handler.rpartition(".")
        answer = json.dumps(getattr(importlib.import_module(module), name)(event, context))
    except Exception as error:
        traceback.print_exc()
        _write(folder, {"error": _described(error)})
        return 1
    _write(folder, {"answer": answer})
    return 0


def _described(error: Exception) -> dict[str, Any]:
    """Returns an error as Lambda describes it."""
    trace = traceback.format_tb(error.__traceback__)
    return {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": trace}


def _write(folder: Path, result: dict[str, Any]) -> None:
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
