#!/usr/bin/python
"""Ansible module: fetches files that must have a given SHA-256. A file that is right already is not fetched again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fetched
short_description: Fetch files by URL, checked by SHA-256, in one visit
options:
  files:
    description: URL, SHA-256, size in bytes and path of each file. A URL may hold a signature, so it is not logged.
    type: list
    elements: dict
    required: true
"""

import hashlib
import os
import shutil
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

TRIES = 4
PAUSE_S = 2.0
ANSWER_LIMIT_S = 30
CHUNK = 1 << 20
FILE = {
    "url": {"type": "str", "required": True, "no_log": True},
    "sha256": {"type": "str", "required": True},
    "size": {"type": "int", "required": True},
    "path": {"type": "path", "required": True},
}


class FetchError(Exception):
    """A file can't be fetched. The message says which and why, without the URL's signature."""


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_right(path: Path, sha256: str, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size and sha256_of(path) == sha256


def fetch(url: str, path: Path, sha256: str, size: int) -> None:
    """Fetches one file beside its place, checks it, and renames it. Tries again where the network fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if free < size:
        raise FetchError(
            f"{path} needs {size / 1e6:.0f} MB, and {path.parent} has {free / 1e6:.0f} MB free. "
            "Give the node a larger volume."
        )
    host = url.split("/")[2] if url.count("/") > 2 else "the address given"
    said = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S * attempt)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            got = _copy(url, descriptor)
            if got == sha256:
                os.chmod(name, 0o644)
                os.replace(name, path)
                return
            said = f"what {host} gave has the SHA-256 {got[:12]}…, not {sha256[:12]}…"
        except urllib.error.HTTPError as error:
            said = f"{host} answers {error.code} {error.reason}"
            if error.code in (403, 404):
                break
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == 28:  # ENOSPC
                raise FetchError(f"{path}: the disk is full. Give the node a larger volume.") from error
            said = f"{host} can't be reached or broke off: {getattr(error, 'reason', error)}"
        finally:
            Path(name).unlink(missing_ok=True)
    raise FetchError(
        f"{path.name} could not be fetched: {said}. Check that the node reaches S3, and that the bucket has the file."
    )


def _copy(url: str, descriptor: int) -> str:
    """Copies what the URL gives into an open file, and returns its SHA-256."""
    digest = hashlib.sha256()
    with os.fdopen(descriptor, "wb") as file, urllib.request.urlopen(url, timeout=ANSWER_LIMIT_S) as answer:
        while chunk := answer.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def fetch_all(files: list[dict[str, Any]], only_check: bool) -> list[str]:
    """Fetches what is missing or differs; returns the paths."""
    fetched = []
    for file in files:
        path = Path(file["path"])
        if not is_right(path, file["sha256"], file["size"]):
            fetched.append(str(path))
            if not only_check:
                fetch(file["url"], path, file["sha256"], file["size"])
    return fetched


def main() -> None:
    from ansible.module_utils.basic import AnsibleModule  # noqa: PLC0415 (Ansible may not be there yet)

    module = AnsibleModule(
        argument_spec={"files": {"type": "list", "elements": "dict", "options": FILE, "required": True}},
        supports_check_mode=True,
    )
    try:
        fetched = fetch_all(module.params["files"], module.check_mode)
    except FetchError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"a file could not be written: {error}")
    module.exit_json(changed=bool(fetched), paths=fetched)


if __name__ == "__main__":
    main()
