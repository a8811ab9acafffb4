"""A real wheelhouse for tests that holds one small package in Python and uv."""

from __future__ import annotations

import base64
import hashlib
import platform
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGES = [{"package": "tiny", "module": "tiny", "version": "1.0"}]


@dataclass(frozen=True)
class TinyWheelhouse:
    """The archive, and for which nodes it is."""

    archive: Path
    made_for: dict[str, str]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.archive.read_bytes()).hexdigest()

    @property
    def size(self) -> int:
        return self.archive.stat().st_size


def tiny_wheelhouse(
    folder: Path, code: str = "ANSWER = 1\n", digest: str = "a" * 64, bytecode: Mapping[str, bytes] | None = None
) -> TinyWheelhouse:
    """Makes a wheelhouse for this machine whose package `tiny` has this code, and this compiled form by paths."""
    house = folder / f"house-{digest[:6]}"
    (house / "wheels").mkdir(parents=True)
    (house / "kernels").mkdir()
    (house / "kernels" / "kernels.so").write_bytes(b"kernels")
    with zipfile.ZipFile(house / "bytecode.zip", "w") as entries:
        for path, compiled in (bytecode or {}).items():
            entries.writestr(path, compiled)
    wheel = _wheel(house / "wheels" / "tiny-1.0-py3-none-any.whl", "tiny", {"tiny.py": code})
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv is not None, "uv is missing beside the Python that runs the tests: `make setup`"
    with zipfile.ZipFile(house / "wheels" / "uv-1-py3-none-any.whl", "w") as entries:
        entries.write(uv, "uv-1.data/scripts/uv")
    requirement = f"tiny==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (house / "requirements.txt").write_text(requirement)
    pack(house, folder / f"{digest[:6]}.tar")
    return TinyWheelhouse(folder / f"{digest[:6]}.tar", {"digest": digest, **this_machine()})


def pack(house: Path, archive: Path) -> None:
    """Writes the files of a folder into an archive."""
    with tarfile.open(archive, "w") as tar:
        for path in sorted(house.rglob("*")):
            if path.is_file():
                tar.add(path, path.relative_to(house))


def this_machine() -> dict[str, str]:
    """The Python, the machine and the glibc of the tests."""
    glibc = platform.libc_ver()[1]
    return {
        "python": "{}.{}".format(*sys.version_info[:2]), "machine": platform.machine(), "glibc": glibc
    }  # fmt: skip


def _wheel(path: Path, name: str, files: dict[str, str]) -> Path:
    info = f"{name}-1.0.dist-info"
    content: dict[str, str] = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},sha256={_hash(text)},{len(text)}\n" for file, text in content.items())
    with zipfile.ZipFile(path, "w") as entries:
        for file, text in {**content, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            entries.writestr(file, text)
    return path


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def variables(wheelhouse: TinyWheelhouse, url: str) -> dict[str, Any]:
    """What the role `python` gets as `centavo.wheelhouse`."""
    return {"made_for": wheelhouse.made_for, "url": url, "sha256": wheelhouse.sha256, "size": wheelhouse.size}
