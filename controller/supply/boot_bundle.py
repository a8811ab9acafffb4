"""The bundle by which a node prepares itself at its boot, and the pointer that names it.

Once the first nodes of a run are prepared, the run's folder gets both. The owner of the cluster copies them to the
bucket (controller/owning/sources.py), the bundle first:

    control/boot/SHA256.tar.gz      the bundle: Ansible's roles, the run's program and settings, and variables.json
    control/boot.json               the pointer (boot.schema.json), which only the lease's holder writes

A node's user data runs terraform/templates/boot_bundle.py, which reads the pointer at every boot and applies the bundle
with ansible/bin/apply_here.py. It is the same roles with the same variables as from outside, so Ansible finds nothing
to change afterwards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.config.load import read_yaml
from controller.config.settings import NodesPrepare
from controller.edges.archive import mode_of, packed
from controller.edges.files import write_whole

BUNDLE_FILE, POINTER_FILE, KEY_FILE = "boot.tar.gz", "boot.json", "head_key.pub"
"""Files of a run's folder. The role `worker` writes the last one: the head's public key."""
VERSION = 1
OF_THE_RUN = ("training.yml", "trainer.zip", "warden.zip", "shipping.zip")
OF_THIS_MACHINE = ("training_config", "package")
"""Variables that name files of this machine; a node has them in the bundle."""
PACKAGES = Path("roles", "python", "defaults", "main.yml")


def bundle_key(sha256: str) -> str:
    """Returns the key of a bundle in the cluster's bucket."""
    return f"control/boot/{sha256}.tar.gz"


def keep_boot_bundle(
    run_directory: Path, ansible: Path, centavo: Mapping[str, Any], head: Mapping[str, str | None], when: NodesPrepare
) -> bool:
    """Writes bundle and pointer into a run's folder, where they differ from what is there.

    Args:
        run_directory: The run's folder.
        ansible: The folder `ansible` of this checkout.
        centavo: The variables of the playbooks, with keys of the bucket in the place of URLs.
        head: The head's `instance_id`, `private_ip` and `flavor`.
        when: When a node prepares itself.

    Returns:
        Whether there is a bundle. Before a worker has been prepared from outside, there is none.

    Raises:
        DiskError: A file can't be written.
    """
    key = run_directory / KEY_FILE
    if not key.is_file():
        return False
    variables = {
        "centavo": {name: value for name, value in centavo.items() if name not in OF_THIS_MACHINE},
        "head": dict(head),
        "head_key": key.read_text(encoding="utf-8").strip(),
        "packages": read_yaml(ansible / PACKAGES)["python_packages"],
    }
    bundle = packed(_files(run_directory, ansible, variables))
    sha256 = hashlib.sha256(bundle).hexdigest()
    pointer = {
        "version": VERSION,
        "cluster": centavo["cluster"],
        "run": centavo["run"],
        "key": bundle_key(sha256),
        "sha256": sha256,
        "root": centavo["root"],
        "when": when.value,
    }
    _write(run_directory / BUNDLE_FILE, bundle)
    _write(run_directory / POINTER_FILE, (json.dumps(pointer, indent=1) + "\n").encode())
    return True


def _files(run_directory: Path, ansible: Path, variables: Mapping[str, Any]) -> dict[str, tuple[bytes, int]]:
    roles = {path for path in ansible.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    files = {f"ansible/{path.relative_to(ansible)}": (path.read_bytes(), mode_of(path)) for path in roles}
    files |= {
        name: ((run_directory / name).read_bytes(), 0o644) for name in OF_THE_RUN if (run_directory / name).is_file()
    }
    files["variables.json"] = (json.dumps(variables, indent=1, sort_keys=True).encode(), 0o644)
    return files


def _write(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        write_whole(path, content)
