#!/usr/bin/python
"""Ansible module: packs a Python package into a zip archive. The same sources give the same archive, byte for byte."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pack
short_description: Pack a Python package into a reproducible zip archive
options:
  src: {description: The package's folder., type: path, required: true}
  dest: {description: The archive to write., type: path, required: true}
  keep: {description: Whether an archive that exists already stays as it is., type: bool, default: false}
"""

import hashlib
import io
import os
import tempfile
import zipfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

EARLIEST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def pack(package: Path) -> bytes:
    """Returns the zip archive of `package` without compiled files. The package's folder is its top level."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as entries:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(str(path.relative_to(package.parent)), EARLIEST_ZIP_TIME)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                entries.writestr(entry, path.read_bytes())
    return archive.getvalue()


def write_atomically(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.replace(name, path)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "src": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
            "keep": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    package, destination = Path(module.params["src"]), Path(module.params["dest"])
    is_kept = module.params["keep"] and destination.is_file()
    if not is_kept and not (package / "__init__.py").is_file():
        module.fail_json(msg=f"{package} is not a Python package: it has no __init__.py")
    content = destination.read_bytes() if is_kept else pack(package)
    changed = not destination.is_file() or destination.read_bytes() != content
    if changed and not module.check_mode:
        write_atomically(destination, content)
    module.exit_json(changed=changed, sha256=hashlib.sha256(content).hexdigest(), dest=str(destination))


if __name__ == "__main__":
    main()
