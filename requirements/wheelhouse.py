"""Builds the wheelhouse: all packages of a node as wheels, their bytecode, and the compiled kernels, in one archive.

    python3 requirements/wheelhouse.py describe --python 3.11 --glibc 2.36
    python3 requirements/wheelhouse.py build --python 3.11 --glibc 2.36
    python3 requirements/wheelhouse.py sources --into sources.zip

Nodes install from this archive. They need no compiler and no package index. The archive's name is a digest of all that
decides what is in it: the pinned requirements, the flags of the builds, the kernels' sources, and the Python and the
glibc that it is for. It is kept in a cache, so that it is built once. `describe` and `build` print one JSON object,
whose `manifest` is described by wheelhouse.schema.json.

Where the nodes' Python or glibc does not fit this machine, `build` runs on the head of a cluster. `sources` packs what
it needs there. The program itself needs nothing but Python's standard library. With WHEELHOUSE_UPLOAD_URL, a presigned
URL of S3, `build` uploads the archive.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KERNELS = ROOT / "trainer" / "model" / "kernels"
FORMAT = 1
MACHINE = "x86_64"
BYTES_PER_COMPILATION = 600_000_000
"""The memory that one compilation of Horovod takes at most (g++ 12)."""
BUILD_FLAGS = {
    "HOROVOD_WITH_MXNET": "1",
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "HOROVOD_WITHOUT_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_PYTORCH": "1",
}
INPUTS = (
    "build-force.cfg",
    "bytecode.py",
    "horovod-cmake",
    "installer.py",
    "wheelhouse.py",
    "hashed/build.txt",
    "hashed/node.txt",
    "hashed/uv.txt",
)
"""The files of this folder that decide what is in a wheelhouse."""
PIP_WHEEL = ("--quiet", "--no-cache-dir", "--require-hashes", "--no-deps", "--no-build-isolation")
"""Without pip's cache, which would give a Horovod that was built with other flags."""
UPLOAD_LIMIT_S = 600
UPLOAD_URL = "WHEELHOUSE_UPLOAD_URL"
IMPORTS = (
    "mxnet",
    "gluonnlp",
    "horovod.mxnet",
    "boto3",
    "sentencepiece",
    "sacrebleu",
    "babel",
    "num2words",
    "tensorboardX",
    "supervisor.supervisorctl",
    "supervisor.supervisord",
    "pydantic",
)
"""What nodes import. The wheelhouse holds the compiled form of all that these load."""


class WheelhouseError(Exception):
    """A wheelhouse can't be built here. The message says why, and what to do."""


@dataclass(frozen=True)
class Target:
    """The nodes that a wheelhouse is for: their Python (`3.11`) and their glibc (`2.36`) or a later one."""

    python: str
    glibc: str

    @property
    def abi(self) -> str:
        """The ABI in the names of wheels, such as `cp311`."""
        return "cp" + self.python.replace(".", "")

    def described(self) -> dict[str, str]:
        """Returns the target as it is written to a manifest."""
        return {"python": self.python, "abi": self.abi, "machine": MACHINE, "glibc": self.glibc}


def digest_of(target: Target) -> str:
    """Returns the digest of all that decides what is in the wheelhouse."""
    kernels = sorted(path for path in KERNELS.iterdir() if path.suffix in (".cc", ".h", ".py"))
    files = {path.name: sha256_of(path) for path in [*(HERE / name for name in INPUTS), *kernels]}
    inputs = {"format": FORMAT, "target": target.described(), "flags": BUILD_FLAGS, "files": files}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def default_cache() -> Path:
    """Returns the folder in the user's cache where wheelhouses are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "centavo" / "wheelhouse"


# where a wheelhouse can be built


def interpreter_for(target: Target) -> str | None:
    """Returns a Python of the target's version on this machine; None where there is none that makes environments."""
    own = "{}.{}".format(*sys.version_info[:2])
    candidates = [sys.executable] if own == target.python else []
    named = shutil.which(f"python{target.python}")
    check = "import sys, sysconfig, venv, ensurepip, pathlib; sys.exit(not pathlib.Path(sysconfig.get_path('include'), 'Python.h').is_file())"  # noqa: E501
    for candidate in [*candidates, *([named] if named else [])]:
        if subprocess.run([candidate, "-c", check], check=False, capture_output=True).returncode == 0:
            return candidate
    return None


def misfit(target: Target) -> str:
    """Returns why this machine can't build for the target; empty where it can."""
    name, _, version = (
        (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ") if hasattr(os, "confstr") else ("", "", "")
    )
    if sys.platform != "linux" or platform.machine() != MACHINE or name != "glibc":
        return (
            f"this machine is {platform.system()} on {platform.machine()}; the nodes are Linux with glibc on {MACHINE}"
        )
    if numbers(version) > numbers(target.glibc):
        return f"this machine has glibc {version}, and the nodes may have {target.glibc}, which is older"
    if interpreter_for(target) is None:
        return f"there is no python{target.python} here with its headers and its modules venv and ensurepip"
    missing = [tool for tool in ("g++", "cmake", "make") if shutil.which(tool) is None]
    return f"the tools {', '.join(missing)} are missing here" if missing else ""


def numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers in a version, for comparing."""
    return tuple(int(part) for part in version.split("."))


def compilations_at_once() -> int:
    """Returns how many compilations fit into the memory and the processors of this machine; at least one."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
    return max(1, min(len(os.sched_getaffinity(0)), available // BYTES_PER_COMPILATION))


# building


def build(target: Target, cache: Path) -> dict[str, Any]:
    """Builds the wheelhouse, unless the cache has it. Returns its manifest.

    Raises:
        WheelhouseError: It can't be built here.
    """
    digest = digest_of(target)
    if (reason := "" if cached(cache, digest) else misfit(target)) != "":
        raise WheelhouseError(f"The wheelhouse for Python {target.python} can't be built here: {reason}.")
    with alone(cache):
        if (manifest := cached(cache, digest)) is not None:
            return manifest
        for left in cache.glob("building-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as work:
            house = Path(work) / "house"
            fill(house, Path(work), target)
            check(house, Path(work), target)
            archive = Path(work) / "archive.tar"
            pack(house, archive)
            manifest = {
                "format": FORMAT,
                "digest": digest,
                **target.described(),
                "size": archive.stat().st_size,
                "sha256": sha256_of(archive),
                "files": {str(path.relative_to(house)): sha256_of(path) for path in files_in(house)},
            }
            archive.replace(archive_in(cache, digest))
        written = manifest_in(cache, digest).with_suffix(".new")
        written.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        written.replace(manifest_in(cache, digest))
        return manifest


def archive_in(cache: Path, digest: str) -> Path:
    """Returns where the cache keeps the archive."""
    return cache / f"{digest}.tar"


def manifest_in(cache: Path, digest: str) -> Path:
    """Returns where the cache keeps the manifest, which is written last."""
    return cache / f"{digest}.json"


def cached(cache: Path, digest: str) -> dict[str, Any] | None:
    """Returns the manifest of a wheelhouse that the cache has whole."""
    try:
        manifest: dict[str, Any] = json.loads(manifest_in(cache, digest).read_text(encoding="utf-8"))
        is_whole = archive_in(cache, digest).stat().st_size == manifest["size"]
    except (OSError, ValueError, KeyError):
        return None
    return manifest if is_whole else None


@contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Keeps a second build out of the cache while inside."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fill(house: Path, work: Path, target: Target) -> None:
    """Puts all wheels, their list with hashes, and the kernels into the folder `house`."""
    wheels, environment = house / "wheels", work / "venv"
    python = environment / "bin" / "python"
    wheels.mkdir(parents=True)
    (house / "kernels").mkdir()
    say("1/4 MXNet and what the builds need")
    run([interpreter_for(target) or sys.executable, "-m", "venv", str(environment)])
    run(
        [
            str(python),
            str(HERE / "installer.py"),
            "--require-hashes",
            "--no-deps",
            "-r",
            str(HERE / "hashed" / "build.txt"),
        ]
    )
    cmake = work / "horovod-cmake"
    shutil.copyfile(HERE / "horovod-cmake", cmake)
    cmake.chmod(0o700)
    jobs = compilations_at_once()
    say(f"2/4 all packages as wheels; GluonNLP and Horovod are built here, with {jobs} compilations at once")
    flags = {
        **BUILD_FLAGS,
        "HOROVOD_CMAKE": str(cmake),
        "DIST_EXTRA_CONFIG": str(HERE / "build-force.cfg"),
        "MAKEFLAGS": f"-j{jobs}",
    }
    lists = [word for name in ("node", "uv") for word in ("-r", str(HERE / "hashed" / f"{name}.txt"))]
    run([str(python), "-m", "pip", "wheel", *PIP_WHEEL, *lists, "--wheel-dir", str(wheels)], flags)
    say("3/4 the kernels")
    run([str(python), "-m", "trainer.model.kernels", "--for-all", str(house / "kernels")], {"PYTHONPATH": str(ROOT)})
    shutil.rmtree(environment)  # what was built must not lean on it
    (house / "requirements.txt").write_text("".join(map(requirement, sorted(wheels.iterdir()))), encoding="utf-8")


def requirement(wheel: Path) -> str:
    """Returns the line of a list of requirements that asks for exactly this wheel."""
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version} --hash=sha256:{sha256_of(wheel)}\n"


def check(house: Path, work: Path, target: Target) -> None:
    """Installs from the wheelhouse alone, imports what was built, and keeps it compiled. Raises WheelhouseError."""
    say("4/4 installing from the wheelhouse, and importing what was built")
    wheels, environment = house / "wheels", work / "check"
    run([interpreter_for(target) or sys.executable, "-m", "venv", str(environment)])
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(wheels), "--require-hashes"]
    run([*pip, "--no-compile", "--no-deps", "-r", str(house / "requirements.txt")])
    run([python, str(HERE / "bytecode.py"), str(house / "bytecode.zip"), *IMPORTS])


def pack(house: Path, archive: Path) -> None:
    """Writes the folder into a tar archive. The same files give the same archive."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in files_in(house):
            entry = tarfile.TarInfo(str(path.relative_to(house)))
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                tar.addfile(entry, content)


def pack_sources(archive: Path) -> None:
    """Writes all that a build needs into a zip archive. The same files give the same archive."""
    paths = [*(HERE / name for name in INPUTS), *(path for path in (ROOT / "trainer").rglob("*") if path.is_file())]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as entries:
        for path in sorted(path for path in paths if "__pycache__" not in path.parts):
            entry = zipfile.ZipInfo(str(path.relative_to(ROOT)), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (path.stat().st_mode & 0o777) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entries.writestr(entry, path.read_bytes())


def upload(archive: Path, url: str) -> None:
    """Uploads the archive to a presigned URL of S3. Raises OSError without the URL, which holds a signature."""
    with archive.open("rb") as content:
        request = urllib.request.Request(url, data=content, method="PUT")
        request.add_header("Content-Length", str(archive.stat().st_size))
        try:
            urllib.request.urlopen(request, timeout=UPLOAD_LIMIT_S).close()
        except urllib.error.HTTPError as error:
            raise OSError(f"S3 did not take the wheelhouse: {error.code} {error.reason}") from None


def files_in(folder: Path) -> list[Path]:
    """Returns all files in a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def run(command: Sequence[str], more: Mapping[str, str] | None = None) -> None:
    """Runs a program, and ends all that it started when this one is interrupted. Raises WheelhouseError."""
    environment = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **(more or {})}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if status:
            output.seek(0)
            last = output.read().decode(errors="replace").strip().splitlines()[-15:]
            raise WheelhouseError("\n  ".join([f"{' '.join(command[:6])} … ended with {status}:", *last]))


def say(step: str) -> None:
    """Tells people how far it is."""
    print(f"wheelhouse: {step}", file=sys.stderr, flush=True)


def answer(target: Target, cache: Path) -> dict[str, Any]:
    """Returns what is known of the wheelhouse for these nodes, and whether it could be built here."""
    digest = digest_of(target)
    manifest = cached(cache, digest)
    return {
        "digest": digest,
        "target": target.described(),
        "misfit": misfit(target),
        "archive": str(archive_in(cache, digest)) if manifest else None,
        "manifest": manifest,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="wheelhouse.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("describe", "build", "sources"))
    parser.add_argument("--python", default="3.11", help="the nodes' Python (default: %(default)s)")
    parser.add_argument("--glibc", default="2.36", help="the nodes' glibc (default: %(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="where they are kept (default: %(default)s)"
    )
    parser.add_argument("--into", type=Path, default=Path("sources.zip"), help="the archive that `sources` writes")
    options = parser.parse_args(arguments)
    target = Target(options.python, options.glibc)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.command == "sources":
            pack_sources(options.into)
            return 0
        if options.command == "build":
            manifest = build(target, options.cache)
            if os.environ.get(UPLOAD_URL):
                upload(archive_in(options.cache, manifest["digest"]), os.environ[UPLOAD_URL])
        print(json.dumps(answer(target, options.cache)))
    except (WheelhouseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("The build of the wheelhouse was stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
