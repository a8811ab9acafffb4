"""What the image takes over from this machine, so that it reaches the same package indexes: apt, pip, certificates."""

from __future__ import annotations

import configparser
import io
import subprocess
from pathlib import Path

from localcloud.hosts.machine.image.recipe import SUITE, Recipe

APT_PREFIXES = ("Acquire::http", "Acquire::https", "Acquire::ForceIPv4", "Acquire::Retries")
CERTIFICATES = "usr/local/share/ca-certificates"
PIP_FILES = ("etc/pip.conf", "root/.pip/pip.conf", "root/.config/pip/pip.conf")


def recipe_from(root: Path = Path("/")) -> Recipe:
    """Returns the recipe for images that are made on this machine. `root` is its root folder."""
    files = {f"{CERTIFICATES}/{path.name}": path.read_text() for path in sorted((root / CERTIFICATES).glob("*.crt"))}
    apt = apt_settings(_apt_config())
    if apt:
        files["etc/apt/apt.conf.d/99localcloud"] = apt
    pip = pip_settings([(root / name).read_text() for name in PIP_FILES if (root / name).is_file()])
    if pip:
        files["etc/pip.conf"] = pip
    return Recipe(sources=_sources(root), files=files)


def apt_settings(dump: str) -> str:
    """Returns the settings by which apt reaches its sources: proxies, certificates, retries.

    Args:
        dump: what `apt-config dump` prints.
    """
    return "".join(f"{line}\n" for line in dump.splitlines() if line.startswith(APT_PREFIXES) and '""' not in line)


def pip_settings(texts: list[str]) -> str:
    """Returns one configuration of pip made of several, the later before the earlier.

    What names folders of this machine is left out, because the image does not have them.
    """
    merged = configparser.RawConfigParser()
    for text in texts:
        merged.read_string(text)
    kept = configparser.RawConfigParser()
    for section in merged.sections():
        values = {name: _without_folders(name, value) for name, value in merged[section].items()}
        kept[section] = {name: value for name, value in values.items() if value}
    if not any(kept[section] for section in kept.sections()):
        return ""
    written = io.StringIO()
    kept.write(written)
    return written.getvalue()


def _without_folders(name: str, value: str) -> str:
    if name == "cert":
        return value
    return " ".join(word for word in value.split() if not word.startswith(("/", "file:", "~", ".")))


def _sources(root: Path) -> str:
    """Returns apt's sources of this machine if it is of the image's release; otherwise Debian's own are used."""
    if _debian_release(root) != SUITE:
        return ""
    paths = [root / "etc/apt/sources.list", *sorted((root / "etc/apt/sources.list.d").glob("debian*"))]
    texts = [path.read_text() for path in paths if path.is_file()]
    return "\n".join(text for text in texts if text.strip())


def _debian_release(root: Path) -> str | None:
    """Returns the name of this machine's release of Debian; None if it runs something else."""
    path = root / "etc/os-release"
    lines = [line.partition("=") for line in path.read_text().splitlines()] if path.is_file() else []
    entries = {name: value.strip('"') for name, _, value in lines}
    return entries.get("VERSION_CODENAME") if entries.get("ID") == "debian" else None


def _apt_config() -> str:
    try:
        return subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
