"""Builds the wheelhouse of a controller on the head: all packages that `centavo` needs there, as wheels in one archive.

    python3 requirements/controller_wheels.py describe --python 3.11 --glibc 2.36
    python3 requirements/controller_wheels.py build --python 3.11 --glibc 2.36

The head installs from this archive as nodes install from theirs (requirements/wheelhouse.py), and the answers are the
same JSON. Nothing is compiled: the wheels of the head's Python are downloaded, by hash. So any Python and any system
can build it. The Python that runs this program needs pip and setuptools.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import wheelhouse
from wheelhouse import HERE, MACHINE, Target, WheelhouseError

FORMAT = 1
LISTS = ("controller", "uv")
INPUTS = ("controller_wheels.py", *(f"hashed/{name}.txt" for name in LISTS))
"""The files of this folder that decide what is in the wheelhouse."""
SOURCES_ONLY = ("python-terraform",)
"""Packages without a wheel on the package index. Each is Python alone."""
OLDEST_GLIBC_MINOR = 5
"""The first glibc that wheels are named after is 2.5 (PEP 600)."""
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def digest_of(target: Target) -> str:
    """Returns the digest of all that decides what is in the wheelhouse."""
    files = {name: wheelhouse.sha256_of(HERE / name) for name in INPUTS}
    inputs = {"format": FORMAT, "for": "controller", "target": target.described(), "files": files}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def platforms(target: Target) -> list[str]:
    """Returns the platforms in the names of wheels that the target can install."""
    minor = wheelhouse.numbers(target.glibc)[1]
    named = [f"manylinux_2_{one}_{MACHINE}" for one in range(minor, OLDEST_GLIBC_MINOR - 1, -1)]
    return [*named, f"manylinux2014_{MACHINE}", f"manylinux2010_{MACHINE}", f"manylinux1_{MACHINE}"]


def fill(house: Path, work: Path, target: Target) -> None:
    """Puts all wheels, and their list with hashes, into the folder `house`."""
    wheels, sources = house / "wheels", work / "sources"
    wheels.mkdir(parents=True)
    wheelhouse.say("the packages of a controller")
    chosen = [f"--platform={name}" for name in platforms(target)]
    chosen += ["--implementation=cp", *(f"--abi={abi}" for abi in (target.abi, "abi3", "none"))]
    lists = [f"--requirement={HERE / 'hashed' / f'{name}.txt'}" for name in LISTS]
    only = ["--only-binary=:all:", *(f"--no-binary={name}" for name in SOURCES_ONLY)]
    download = [*PIP, "download", "--require-hashes", "--no-deps", "--no-build-isolation", *only, *lists]
    wheelhouse.run([*download, f"--python-version={target.python}", *chosen, f"--dest={sources}"])
    for file in sorted(sources.iterdir()):
        if file.suffix == ".whl":
            file.rename(wheels / file.name)
        else:
            wheelhouse.run(
                [*PIP, "wheel", "--no-index", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", str(file)]
            )
    requirements = "".join(map(wheelhouse.requirement, sorted(wheels.iterdir())))
    (house / "requirements.txt").write_text(requirements, encoding="utf-8")
    zipfile.ZipFile(house / "bytecode.zip", "w").close()  # this Python may be another than the head's


def build(target: Target, cache: Path) -> dict[str, Any]:
    """Builds the wheelhouse, unless the cache has it. Returns its manifest.

    Raises:
        WheelhouseError: It can't be built here.
    """
    digest = digest_of(target)
    with wheelhouse.alone(cache), tempfile.TemporaryDirectory(prefix="building-", dir=cache) as work:
        if (manifest := wheelhouse.cached(cache, digest)) is not None:
            return manifest
        house, archive = Path(work, "house"), Path(work, "archive.tar")
        fill(house, Path(work), target)
        wheelhouse.pack(house, archive)
        files = {str(path.relative_to(house)): wheelhouse.sha256_of(path) for path in wheelhouse.files_in(house)}
        size, sha256 = archive.stat().st_size, wheelhouse.sha256_of(archive)
        manifest = {
            **{"format": FORMAT, "digest": digest, **target.described()},
            **{"size": size, "sha256": sha256, "files": files},
        }
        archive.replace(wheelhouse.archive_in(cache, digest))
        written = Path(work, "manifest.json")
        written.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        written.replace(wheelhouse.manifest_in(cache, digest))
    return manifest


def answer(target: Target, cache: Path) -> dict[str, Any]:
    """Returns what is known of the wheelhouse for this head."""
    digest = digest_of(target)
    manifest = wheelhouse.cached(cache, digest)
    archive = str(wheelhouse.archive_in(cache, digest)) if manifest else None
    return {"digest": digest, "target": target.described(), "misfit": "", "archive": archive, "manifest": manifest}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="controller_wheels.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("describe", "build"))
    parser.add_argument("--python", default="3.11", help="the head's Python (default: %(default)s)")
    parser.add_argument("--glibc", default="2.36", help="the head's glibc (default: %(default)s)")
    parser.add_argument("--cache", type=Path, default=wheelhouse.default_cache(), help="default: %(default)s")
    options = parser.parse_args(arguments)
    target = Target(options.python, options.glibc)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.command == "build":
            build(target, options.cache)
        print(json.dumps(answer(target, options.cache)))
    except (WheelhouseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("The build of the controller's wheelhouse was stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
