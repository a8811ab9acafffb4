"""Images in the cache: made when a recipe is used for the first time, and never changed after that."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from localcloud.hosts.machine.image.recipe import Recipe
from localcloud.hosts.machine.tools import MachineError

MAKE_LIMIT_S = 1800.0
NEEDED_BYTES = 1_500_000_000
LINES_SHOWN = 15

Build = Callable[[Recipe, Path], None]
"""Makes the root file system of a recipe in a folder that does not exist yet."""


def default_folder() -> Path:
    """Returns the folder of images in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "centavo" / "images"


def image_of(recipe: Recipe, folder: Path, build: Build, tell: Callable[[str], None]) -> Path:
    """Returns the root file system of a recipe. Makes it if it is not in the cache.

    Args:
        recipe: what the image consists of.
        folder: the cache.
        build: makes a root file system.
        tell: takes a sentence for the person who waits.

    Raises:
        MachineError: the image cannot be made. Nothing half-made stays.
    """
    image = folder / recipe.digest
    if image.is_dir():
        return image
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another cloud may make the same image
            if not image.is_dir():
                _make(recipe, image, build, tell)
    except OSError as error:
        raise MachineError(f"the image cannot be kept in {folder}: {error}. Give another folder as "
                           "`machines: {image_dir: …}`") from None  # fmt: skip
    return image


def _make(recipe: Recipe, image: Path, build: Build, tell: Callable[[str], None]) -> None:
    free = shutil.disk_usage(image.parent).free
    if free < NEEDED_BYTES:
        raise MachineError(
            f"{image.parent} has {free / 1e9:.1f} GB left, and the image needs {NEEDED_BYTES / 1e9:.1f} GB while it is "
            "made; free some space, or give another folder as `machines: {image_dir: …}`"
        )
    new = image.with_name(f"{image.name}.new")
    shutil.rmtree(new, ignore_errors=True)  # a process that was killed left it
    tell(f"making the image of Debian 12 in {image}; this takes a minute or two, once")
    try:
        build(recipe, new)
        new.rename(image)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def build_with_mmdebstrap(recipe: Recipe, target: Path) -> None:
    """Makes a root file system with mmdebstrap.

    Raises:
        MachineError: mmdebstrap failed. The message has its last lines.
    """
    with tempfile.TemporaryDirectory(prefix="centavo-image-") as name:
        folder = Path(name)
        command = mmdebstrap_command(recipe, target, folder)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            raise MachineError(f"mmdebstrap did not end within {MAKE_LIMIT_S:.0f} s") from None
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-LINES_SHOWN:])
        raise MachineError(
            "the image cannot be made: mmdebstrap failed. Its packages come from the sources of this machine's apt; "
            f"check that `apt-get update` works. The last lines:\n{last}"
        )


def mmdebstrap_command(recipe: Recipe, target: Path, folder: Path) -> list[str]:
    """Returns the command that makes an image. Writes the recipe's files to `folder` for it."""
    overlay = folder / "files"
    for path, text in recipe.files.items():
        (overlay / path).parent.mkdir(parents=True, exist_ok=True)
        (overlay / path).write_text(text)
    overlay.mkdir(exist_ok=True)
    script = folder / "customize"
    script.write_text(f"#!/bin/sh\n{recipe.customize}")
    script.chmod(0o755)
    sources = []
    if recipe.sources:
        kind = "sources" if "Types:" in recipe.sources else "list"
        (folder / f"apt.{kind}").write_text(recipe.sources)
        sources = [str(folder / f"apt.{kind}")]
    apt = overlay / "etc/apt/apt.conf.d/99localcloud"
    return [
        "mmdebstrap", "--variant=minbase", f"--include={','.join(recipe.packages)}", "--format=directory",
        *([f"--aptopt={apt}"] if apt.exists() else []),
        f"--customize-hook=cp -r {overlay}/. \"$1\"", f"--customize-hook={script}",
        recipe.suite, str(target), *sources,
    ]  # fmt: skip
