"""Of two processes that hold the same file, one goes on and the other waits for its end."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from trainer.files.lock import only_one

HOLDER = """
import sys, time
from pathlib import Path
from trainer.files.lock import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(1000)
"""


def test_the_second_one_waits_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    first = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    assert first.stdout is not None and first.stdout.readline() == b"held\n"
    has_begun = threading.Event()

    def second() -> None:
        with only_one(path):
            has_begun.set()

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    assert not has_begun.wait(0.3)
    first.kill()
    first.wait()
    assert has_begun.wait(30)
    thread.join(30)
    first.stdout.close()
