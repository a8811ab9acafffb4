#!/usr/bin/python
"""Ansible module: makes a Python environment from a wheelhouse, and checks that its packages can be imported.

What was checked is noted in the environment, so that the next visit is quick. Nothing comes from the internet, and
nothing is compiled: the wheelhouse holds every package, and uv, which installs them.
"""

from __future__ import annotations

DOCUMENTATION = r"""
module: wheels
short_description: Make a Python environment from a wheelhouse
options:
  python: {description: Path of the environment's Python or its name on PATH., type: str, required: true}
  packages:
    description: Package and module of all that has to be there, and the version where it matters.
    type: list
    elements: dict
    required: true
  wheelhouse:
    description: Digest and python and machine and glibc of the wheelhouse. Without it nothing is installed.
    type: dict
  archive:
    description: >-
      The wheelhouse's archive on the node, which is removed afterwards. Without it the module says whether it is
      needed.
    type: path
"""

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

MARK = "centavo-checked"
DIGITS = 12
IMPORT = """
import importlib, importlib.metadata, json, sys
for package in json.loads(sys.argv[1]):
    importlib.import_module(package["module"])
    found = importlib.metadata.version(package["package"])
    if package.get("version") not in (None, found):
        sys.exit(f"{package['package']} has version {found}, not {package['version']}")
"""
STATE = """
import os, sys, sysconfig
print(sys.prefix if sys.prefix != sys.base_prefix else "")
print(os.stat(sysconfig.get_path("purelib")).st_mtime_ns)
"""


class WheelsError(Exception):
    """The environment can't be made or used. The message says why, and what to do."""


def misfit(wheelhouse: dict[str, str]) -> str:
    """Returns why this node can't use the wheelhouse; empty where it can."""
    python = "{}.{}".format(*sys.version_info[:2])
    name, _, glibc = (os.confstr("CS_GNU_LIBC_VERSION") or "no glibc ").partition(" ")
    has = f"Python {python} on {platform.machine()} with {name} {glibc}".strip()
    wants = f"Python {wheelhouse['python']} on {wheelhouse['machine']} with glibc {wheelhouse['glibc']} or later"
    is_fit = (
        (python, platform.machine(), name) == (wheelhouse["python"], wheelhouse["machine"], "glibc")
        and numbers(glibc) >= numbers(wheelhouse["glibc"])
    )  # fmt: skip
    return "" if is_fit else (
        f"The wheelhouse {wheelhouse['digest'][:DIGITS]} is for {wants}. This node has {has}. Set nodes.wheelhouse in "
        "centavo.yml to what the nodes' image has, or name another image in main.tf."
    )  # fmt: skip


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


# what is there


def stamp_of(python: str, wheelhouse: dict[str, str] | None) -> tuple[Path | None, str]:
    """Returns where it is noted that the environment was checked, and what has to stand there.

    The system's own Python is no environment: nothing is noted in its folder.
    """
    if wheelhouse is not None:
        return Path(python).parent.parent / MARK, wheelhouse["digest"]
    prefix, changed_at = said(python, STATE).split("\n")[:2]
    return Path(prefix) / MARK if prefix else None, changed_at


def said(python: str, program: str, *arguments: str) -> str:
    """Returns what a program printed that this Python ran. Raises WheelsError with the last line of its error."""
    try:
        done = subprocess.run([python, "-I", "-c", program, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise WheelsError(f"{python} can't be run: {error.strerror}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise WheelsError(last)
    return done.stdout


def is_noted(mark: Path | None, stamp: str) -> bool:
    try:
        return mark is not None and mark.read_text(encoding="utf-8") == stamp
    except OSError:
        return False


def note(mark: Path | None, stamp: str) -> None:
    """Notes that the environment was checked, where its folder can be written."""
    if mark is not None:
        with contextlib.suppress(OSError):
            mark.write_text(stamp, encoding="utf-8")


# installing


def install(archive: Path, python: str, wheelhouse: dict[str, str], packages: list[dict[str, Any]]) -> None:
    """Makes the environment beside its place, checks it, and lets the place lead to it."""
    place = Path(python).parent.parent
    made = place.with_name(f"{place.name}-{wheelhouse['digest'][:DIGITS]}")
    for old in place.parent.glob(f"{place.name}-*"):
        if old != place.resolve():
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".wheels-", dir=place.parent) as work:
        house = Path(work, "house")
        unpack(archive, house)
        uv = uv_of(house, Path(work))
        environment = {
            **os.environ,
            "UV_CACHE_DIR": str(Path(work, "cache")),
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_CONFIG": "1",
        }
        run([str(uv), "venv", "--quiet", "--offline", "--clear", "--python", sys.executable, str(made)], environment)
        options = [
            "--quiet",
            "--offline",
            "--no-index",
            "--find-links",
            str(house / "wheels"),
            "--require-hashes",
            "--no-deps",
        ]
        listed = ["-r", str(house / "requirements.txt")]
        run([str(uv), "pip", "install", *options, "--python", str(made / "bin" / "python"), *listed], environment)
        (site_packages,) = made.glob("lib/python*/site-packages")
        with zipfile.ZipFile(house / "bytecode.zip") as bytecode:
            bytecode.extractall(site_packages)
        kernels = made / "lib" / "centavo"
        kernels.mkdir(parents=True, exist_ok=True)
        for kernel in house.glob("kernels/*"):
            shutil.move(str(kernel), kernels / kernel.name)
    check_imports(str(made / "bin" / "python"), packages, "The wheelhouse was installed, and")
    note(made / MARK, wheelhouse["digest"])
    lead(place, made)
    archive.unlink()


def unpack(archive: Path, house: Path) -> None:
    """Unpacks the archive's plain files."""
    with tarfile.open(archive, "r:") as tar:
        for entry in tar:
            path = Path(entry.name)
            if not entry.isfile() or path.is_absolute() or ".." in path.parts:
                raise WheelsError(f"{archive} is no wheelhouse: it has the entry {entry.name}")
            (house / path).parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(entry)
            with (house / path).open("wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)  # type: ignore[arg-type]


def uv_of(house: Path, work: Path) -> Path:
    """Returns the program uv, which lies in its wheel."""
    for wheel in house.glob("wheels/uv-*.whl"):
        with zipfile.ZipFile(wheel) as entries:
            for name in entries.namelist():
                if name.endswith(".data/scripts/uv"):
                    (work / "uv").write_bytes(entries.read(name))
                    (work / "uv").chmod(0o700)
                    return work / "uv"
    raise WheelsError("The wheelhouse lacks uv, which installs the packages. Build it anew: `make wheelhouse`.")


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelsError(f"{' '.join(['uv', *command[1:3]])} failed: {done.stderr.strip()[-600:]}")


def check_imports(python: str, packages: list[dict[str, Any]], what: str) -> None:
    """Raises WheelsError where a package can't be imported or has another version."""
    try:
        said(python, IMPORT, json.dumps(packages))
    except WheelsError as error:
        text = str(error)
        step = " Add the package that has this library to system_packages in main.tf." if ".so" in text else ""
        raise WheelsError(f"{what} the training's packages can't be imported with {python}: {text}.{step}") from error


def lead(place: Path, made: Path) -> None:
    """Lets `place` be a link to what was made. What lay there before is removed."""
    if place.is_dir() and not place.is_symlink():
        place.rename(place.with_name(f"{place.name}-old"))
        shutil.rmtree(place.with_name(f"{place.name}-old"), ignore_errors=True)
    link = place.with_name(f".{place.name}.new")
    link.unlink(missing_ok=True)
    link.symlink_to(made.name)
    link.replace(place)


def main() -> None:
    from ansible.module_utils.basic import AnsibleModule  # noqa: PLC0415 (Ansible may not be there yet)

    package = {
        "package": {"type": "str", "required": True},
        "module": {"type": "str", "required": True},
        "version": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "str", "required": True},
            "packages": {"type": "list", "elements": "dict", "options": package, "required": True},
            "wheelhouse": {"type": "dict"},
            "archive": {"type": "path"},
        },
        supports_check_mode=True,
    )
    python, wheelhouse, archive = (module.params[name] for name in ("python", "wheelhouse", "archive"))
    packages = module.params["packages"]
    try:
        mark, stamp = stamp_of(python, wheelhouse)
        is_there = is_noted(mark, stamp) and (wheelhouse is None or Path(python).exists())
        if not is_there and wheelhouse is None:
            check_imports(
                python, packages, "This environment's nodes install nothing (centavo.yml has no nodes.wheelhouse), and"
            )
            note(*stamp_of(python, None))  # the imports may have written caches of compiled modules
        if not is_there and wheelhouse is not None:
            if reason := misfit(wheelhouse):
                raise WheelsError(reason)
            if archive and not module.check_mode:
                Path(python).parent.parent.parent.mkdir(parents=True, exist_ok=True)
                install(Path(archive), python, wheelhouse, packages)
            module.exit_json(changed=bool(archive), needed=not archive)
    except WheelsError as error:
        module.fail_json(msg=str(error))
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        module.fail_json(msg=f"The wheelhouse could not be installed: {type(error).__name__}: {error}")
    module.exit_json(changed=False, needed=False)


if __name__ == "__main__":
    main()
