"""The programs of a node as the role `node` places them, for tests without Ansible."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2

ROLE = Path(__file__).parents[2] / "ansible" / "roles" / "node"


def supervisor_ctl(root: Path) -> str:
    """Returns the command that asks the supervisor of the node in a folder."""
    return f"{sys.executable} -m supervisor.supervisorctl --configuration {root}/supervisord.conf"


def place_programs(root: Path, sockets: Path, start: Path) -> None:
    """Writes supervisor's configuration and the programs around it, and makes the folders that they use.

    Args:
        root: the node's folder.
        sockets: the folder of supervisor's socket.
        start: the program that each boot of the node calls.
    """
    names = {
        "ansible_managed": "made by a test", "node_root": root, "node_sockets": sockets,
        "node_python": sys.executable, "supervisor_ctl": supervisor_ctl(root),
    }  # fmt: skip
    for folder in (*(root / name for name in ("services", "wanted", "log", "bin")), start.parent):
        folder.mkdir(parents=True, exist_ok=True)
    for template, path in (
        ("supervisord.conf.j2", root / "supervisord.conf"),
        ("supervise.j2", root / "bin" / "supervise"),
        ("services.j2", root / "bin" / "services"),
        ("start.j2", start),
    ):
        path.write_text(jinja2.Template((ROLE / "templates" / template).read_text()).render(names))
        path.chmod(0o755)
    (root / "bin" / "services.py").write_text((ROLE / "files" / "services.py").read_text())
