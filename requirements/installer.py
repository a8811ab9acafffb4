"""Installs packages into the virtual environment that runs it: with uv, or with pip where uv can't be had.

    .venv/bin/python requirements/installer.py ARGUMENTS OF pip install

uv has the version that `requirements/constraints.txt` pins. It installs several packages at once and builds one
while it downloads others. uv does not read pip's configuration, so its settings for the package index are handed over
to uv as environment variables; a variable of uv that is set already stays as it is. INSTALLER=pip leaves uv out.
With `--require-hashes` uv itself is installed by hash too.
"""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parent / "constraints.txt"
HASHED_UV = Path(__file__).resolve().parent / "hashed" / "uv.txt"
BY_HASH = "--require-hashes"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
UV = [sys.executable, "-m", "uv", "pip"]

VARIABLES_OF_SETTINGS = {
    "index-url": ("UV_DEFAULT_INDEX",),
    "extra-index-url": ("UV_INDEX",),
    "find-links": ("UV_FIND_LINKS",),
    "no-index": ("UV_NO_INDEX",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "no-cache-dir": ("UV_NO_CACHE",),
}
"""uv's variable for each setting of pip."""


def main(arguments: Sequence[str]) -> int:
    """Installs what `arguments` name; returns the exit status of the installer."""
    if os.environ.get("INSTALLER") == "pip" or not _has_uv(BY_HASH in arguments):
        return _pip(arguments)
    settings = pip_settings(_said(["config", "list"]))
    environment = {**uv_environment(settings), **os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    command = [*UV, "install", "--quiet", "--python", sys.executable, *arguments]
    status = subprocess.run(command, env=environment, check=False).returncode
    if status == 0:
        return 0
    print("uv could not install these packages (see above); pip tries it now.", file=sys.stderr)
    return _pip(arguments)


def pip_settings(listing: str) -> dict[str, str]:
    """Returns the settings in the output of `pip config list`, by option.

    A line is `SECTION.OPTION='VALUE'`. As in pip, the environment wins over the section `install`, and that one over
    `global`.
    """
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        name, separator, value = line.partition("=")
        section, _, option = name.rpartition(".")
        if separator and section in found:
            found[section][option.replace("_", "-")] = str(ast.literal_eval(value))
    return {**found["global"], **found["install"], **found[":env:"]}


def uv_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that have uv use the package index as pip with these settings does."""
    environment = {
        variable: value.strip()
        for option, value in settings.items()
        for variable in VARIABLES_OF_SETTINGS.get(option, ())
        if value.strip()
    }
    if "UV_HTTP_TIMEOUT" in environment:
        environment["UV_HTTP_TIMEOUT"] = str(math.ceil(float(environment["UV_HTTP_TIMEOUT"])))  # pip takes 2.5, uv not
    if "UV_INSECURE_HOST" in environment:
        environment["UV_INSECURE_HOST"] = " ".join(environment["UV_INSECURE_HOST"].split())
    if "UV_FIND_LINKS" in environment:
        environment["UV_FIND_LINKS"] = ",".join(environment["UV_FIND_LINKS"].split())
    if "UV_INDEX" in environment:
        environment["UV_INDEX"] = " ".join(environment["UV_INDEX"].split())
        environment["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # all indexes are equal, as they are for pip
    return environment


def _has_uv(by_hash: bool) -> bool:
    """Installs uv, unless it is there, and tells why there is none."""
    pinned = next(line for line in CONSTRAINTS.read_text(encoding="utf-8").split() if line.startswith("uv=="))
    try:
        if version("uv") == pinned.removeprefix("uv=="):
            return True
    except PackageNotFoundError:
        pass
    what = [BY_HASH, "--no-deps", "-r", str(HASHED_UV)] if by_hash else [pinned]
    installing = subprocess.run([*PIP, "install", "--quiet", *what], check=False, capture_output=True, text=True)
    if installing.returncode != 0:
        last = (installing.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"uv can't be installed ({last}); pip is used instead, which takes longer.", file=sys.stderr)
    return installing.returncode == 0


def _pip(arguments: Sequence[str]) -> int:
    return subprocess.run([*PIP, "install", "-qq", *arguments], check=False).returncode


def _said(arguments: Sequence[str]) -> str:
    return subprocess.run([*PIP, *arguments], check=False, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
