#!/usr/bin/python
"""Ansible module: makes folders, files and lines, and unpacks archives, all in one visit to a node.

Ansible starts a Python on the node for every task and every item of a loop. One visit in place of ten is what makes a
new node ready sooner.
"""

from __future__ import annotations

DOCUMENTATION = r"""
module: place
short_description: Make folders, files and lines, and unpack archives, in one visit
options:
  folders: {description: Path and mode of each folder to make., type: list, elements: dict, default: []}
  archives: {description: Folder of each zip archive and its base64 content., type: list, elements: dict, default: []}
  files: {description: Path and content and mode of each file., type: list, elements: dict, default: []}
  lines: {description: Path and line that it must have and mode of a new file., type: list, elements: dict, default: []}
"""

import base64
import io
import os
import shutil
import stat
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

# The content of an archive is too large for a log.
ARCHIVE = {"folder": {"type": "str", "required": True}, "content": {"type": "str", "required": True, "no_log": True}}


class Placing:
    """Makes what is missing or differs. `changed` lists the paths of what did."""

    def __init__(self, only_check: bool) -> None:
        self._only_check = only_check
        self.changed: list[str] = []

    def folder(self, path: Path, mode: int) -> None:
        """Makes a folder with this mode."""
        if path.is_dir() and _mode(path) == mode:
            return
        if self._is_wanted(path):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(mode)

    def file(self, path: Path, content: str, mode: int) -> None:
        """Writes a file with this content and mode, by rename."""
        wanted = content.encode()
        is_there = path.is_file() and path.read_bytes() == wanted and _mode(path) == mode
        if not is_there and self._is_wanted(path):
            _write(path, wanted, mode)

    def line(self, path: Path, line: str, mode: int) -> None:
        """Adds a line at the end of a file that lacks it."""
        had = path.read_text(encoding="utf-8") if path.is_file() else ""
        if line not in had.splitlines() and self._is_wanted(path):
            before = had if not had or had.endswith("\n") else had + "\n"
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(path, f"{before}{line}\n".encode(), _mode(path) if path.is_file() else mode)

    def archive(self, folder: Path, content: str) -> None:
        """Unpacks an archive beside its folder, and renames it when it is whole."""
        if folder.is_dir() or not self._is_wanted(folder):
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        unpacked = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            with zipfile.ZipFile(io.BytesIO(base64.b64decode(content))) as entries:
                entries.extractall(unpacked)
            unpacked.chmod(0o755)
            unpacked.rename(folder)
        except BaseException:
            shutil.rmtree(unpacked, ignore_errors=True)
            raise

    def _is_wanted(self, path: Path) -> bool:
        self.changed.append(str(path))
        return not self._only_check


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _write(path: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.chmod(name, mode)
    os.replace(name, path)


def place(placing: Placing, wanted: dict[str, Any]) -> None:
    """Makes everything that a task asks for: folders first, for files and archives lie in them."""
    for folder in wanted["folders"]:
        placing.folder(Path(folder["path"]), int(folder["mode"], 8))
    for archive in wanted["archives"]:
        placing.archive(Path(archive["folder"]), archive["content"])
    for file in wanted["files"]:
        placing.file(Path(file["path"]), file["content"], int(file["mode"], 8))
    for line in wanted["lines"]:
        placing.line(Path(line["path"]), line["line"], int(line["mode"], 8))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **{name: {"type": "list", "elements": "dict", "default": []} for name in ("folders", "files", "lines")},
            "archives": {"type": "list", "elements": "dict", "default": [], "options": ARCHIVE},
        },
        supports_check_mode=True,
    )
    placing = Placing(only_check=module.check_mode)
    try:
        place(placing, module.params)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        module.fail_json(msg=f"{type(error).__name__}: {error}", paths=placing.changed)
    module.exit_json(changed=bool(placing.changed), paths=placing.changed)


if __name__ == "__main__":
    main()
