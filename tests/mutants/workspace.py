"""The folder in which mutmut works on one room, below `runs/bench/mutants`.

It has mutmut's settings, and links to the code, the tests and what the tests read. mutmut keeps what it has found
out in there, so a run that was stopped goes on. What was found out belongs to one state of code and tests: when either
has changed, the folder is made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.rooms import WORDING, Room

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "runs" / "bench" / "mutants"
LINKED = ("controller", "tests", "pyproject.toml")
READ_BY_TESTS = ("ansible", "docs", "localcloud", "requirements", "terraform", "trainer")
WORKERS = 2
SURVIVED, NO_TESTS, NO_TESTS_RAN = 0, 33, 5
"""mutmut's exit codes for a mutant that no test has noticed."""
FAILED = 1
"""pytest's exit code for a mutant that a test has noticed."""
STOPPING_S = 30
PATIENCE = 30
"""A mutant hangs when its tests take so many times as long as without it: a busy machine must not catch any."""
PYTEST_OPTIONS = (
    *(f"-pno:{plugin}" for plugin in ("cacheprovider", "warnings", "unraisableexception")),
    "-ptests.mutants.limits",
)
"""mutmut runs pytest once for each mutant. The third of these plugins collects garbage five times at each end."""
MEMORY = Path("/dev/shm")
"""Where there is a file system in memory, the tests' temporary files lie there: the journal's tests write a lot."""


@dataclass(frozen=True)
class Workspace:
    """The folder of one room."""

    room: Room

    @property
    def folder(self) -> Path:
        """Where mutmut runs."""
        return KEPT / self.room.name

    def prepare(self, keep: bool) -> None:
        """Makes the folder, anew if code or tests have changed since, unless `keep` says to keep the caught mutants."""
        digest = _digest(self.room)
        stored = self.folder / "digest"
        if not keep and (not stored.exists() or stored.read_text() != digest):
            shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "mutants").mkdir(parents=True, exist_ok=True)
        stored.write_text(digest)
        (self.folder / "setup.cfg").write_text(settings(self.room))
        self.drop_torn()
        for name in LINKED:
            _link(self.folder / name, ROOT / name)
        for name in READ_BY_TESTS:
            _link(self.folder / "mutants" / name, ROOT / name)

    def run(self, limit_s: float) -> bool:
        """Runs mutmut for at most so many seconds. Returns whether it has come to the end.

        Raises:
            RuntimeError: mutmut has failed. Its last lines are in the error.
        """
        log, began = self.folder / "mutmut.log", time.monotonic()
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(WORKERS)]
        with (
            log.open("w") as output,
            tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as temporary,
        ):
            variables = {**os.environ, "TMPDIR": temporary, "HYPOTHESIS_PROFILE": "mutants"}
            process = subprocess.Popen(command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT, env=variables)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(STOPPING_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                self.drop_torn()
                return False
            finally:
                (self.folder / "seconds").write_text(f"{self.seconds() + time.monotonic() - began:.1f}")
        if code:
            last = "\n".join(log.read_text(errors="replace").replace("\r", "\n").splitlines()[-20:])
            raise RuntimeError(f"mutmut failed on {self.room.name} (exit code {code}, {log}):\n{last}")
        return True

    def seconds(self) -> float:
        """Returns how long mutmut has run in this folder."""
        stored = self.folder / "seconds"
        return float(stored.read_text()) if stored.exists() else 0.0

    def results(self) -> dict[str, dict[str, int | None]]:
        """Returns by file (from the repository's root) and by mutant mutmut's exit code; None: not tried yet."""
        found = {}
        for meta in sorted((self.folder / "mutants").rglob("*.meta")):
            file = str(meta.relative_to(self.folder / "mutants")).removesuffix(".meta")
            found[file] = json.loads(meta.read_text())["exit_code_by_key"]
        return found

    def drop_torn(self) -> None:
        """Removes what mutmut was writing when it was stopped. Mutants of that file are tried again."""
        for meta in (self.folder / "mutants").rglob("*.meta"):
            try:
                json.loads(meta.read_text())
            except ValueError:
                meta.unlink()
                meta.with_suffix("").unlink(missing_ok=True)

    def forget_survivors(self) -> None:
        """Makes mutmut try the mutants again that no test has failed on so far, those at a time limit included."""
        for meta in (self.folder / "mutants").rglob("*.meta"):
            document = json.loads(meta.read_text())
            codes = document["exit_code_by_key"]
            codes.update({name: None for name, code in codes.items() if code != FAILED})
            meta.write_text(json.dumps(document))
        (self.folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)


def settings(room: Room) -> str:
    """Returns mutmut's settings for a room (https://mutmut.readthedocs.io)."""
    lists = {
        "source_paths": ("controller/",),
        "only_mutate": room.files,
        "pytest_add_cli_args_test_selection": room.tests,
        "pytest_add_cli_args": (*PYTEST_OPTIONS, *(f"--deselect={test}" for test in room.too_slow)),
        "do_not_mutate_patterns": WORDING,
    }
    lines = ["[mutmut]", f"timeout_multiplier = {PATIENCE}", "use_git_change_detection = false"]
    for name, values in lists.items():
        lines += [f"{name} =", *(f"    {value}" for value in values)]
    return "\n".join(lines) + "\n"


def _digest(room: Room) -> str:
    """Returns a digest of all code of the controller, of all unit tests, and of the settings."""
    content = hashlib.sha256(settings(room).encode())
    for folder in ("controller", "tests/unit/controller", "tests/support"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            content.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return content.hexdigest()


def _link(link: Path, target: Path) -> None:
    """Makes a link, also where the folder was copied from another checkout and its link leads back there."""
    if not link.is_symlink() or link.readlink() != target:
        link.unlink(missing_ok=True)
        link.symlink_to(target)
