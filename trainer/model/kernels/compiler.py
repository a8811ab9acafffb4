"""Compiling the kernels: once for a machine, a version of MXNet and a version of the sources.

A node without a compiler finds a library in its Python environment that was compiled elsewhere for a level of x86-64
(https://gitlab.com/x86-psABIs/x86-64-ABI): the wheelhouse brings one for each level in `LEVELS`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import mxnet as mx

from trainer.files.atomic import replaced
from trainer.model.kernels import processor

SOURCES = Path(__file__).parent
LIMIT_S = 300
_LIBRARY_FLAGS = ("-std=c++17", "-fPIC", "-O1")
# Fast mathematics, but NaN stays NaN. The linker does not get the flag: it would change the rounding of the whole
# process (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=55522).
_KERNEL_FLAGS = ("-std=c++17", "-fPIC", "-O3", "-ffast-math", "-fno-finite-math-only", "-fopenmp")
# The same bits on every processor: no fused multiply-add, which some processors lack.
_EXACT_FLAGS = ("-std=c++17", "-fPIC", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fopenmp")
# Horovod's library shows its symbols to all others. Without this flag they replace ours, and loading ends with SIGFPE.
_LINK_FLAGS = ("-shared", "-fopenmp", "-Wl,-Bsymbolic")
NATIVE = "native"
_HASWELL = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
_SKYLAKE = (*_HASWELL, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
WITH_TILES = "x86-64-v4-amx"
LEVELS = {
    WITH_TILES: (*_SKYLAKE, "avx512_bf16", "amx_tile", "amx_bf16"),
    "x86-64-v4": _SKYLAKE,
    "x86-64-v3": _HASWELL,
}
"""Levels of x86-64, the highest first, and what /proc/cpuinfo lists for a processor that has them."""
_OPTIONS = {WITH_TILES: ("-march=x86-64-v4", "-mavx512bf16", "-mamx-tile", "-mamx-bf16")}


class CompileError(RuntimeError):
    """The kernels cannot be compiled here. The message says why."""


def compiled() -> Path:
    """Returns the library for this processor and these sources. It is compiled where there is none yet (some 10 s).

    It lies in the Python environment, or in the user's cache where the environment cannot be written. A library that
    came with the environment, for the highest level that the processor has, saves the compiling. Ranks that share a
    machine wait for the first one to compile it.

    Raises:
        CompileError: There is no compiler, it fails, or there is no place for the library.
    """
    name = f"centavo-kernels-{_digest(processor.description())}.so"
    candidates = [directory / name for directory in _directories()]
    brought = [_directories()[0] / name_for(level) for level, flags in LEVELS.items() if all(map(processor.has, flags))]
    for path in candidates + brought:
        if path.is_file():
            return path
    for path in candidates:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = path.with_suffix(".lock").open("w")
        except OSError:
            continue
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.is_file():
                compile_to(path)
        return path
    raise CompileError(f"neither {candidates[0].parent} nor {candidates[1].parent} can be written")


def compile_to(path: Path, target: str = NATIVE) -> None:
    """Compiles the library to `path`, for this processor or for a level of x86-64. Raises CompileError."""
    mxnet = Path(mx.__file__).parent
    include = f"-I{mxnet / 'include'}"
    compiler = os.environ.get("CXX", "g++")
    sources = {
        SOURCES / "operators.cc": _KERNEL_FLAGS,
        SOURCES / "adam.cc": _EXACT_FLAGS,
        mxnet / "src" / "lib_api.cc": _LIBRARY_FLAGS,
    }
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        objects = []
        for source, flags in sources.items():
            objects.append(str(Path(directory, f"{source.stem}.o")))
            options = _OPTIONS.get(target, (f"-march={target}",))
            _run([compiler, *flags, *options, include, "-c", str(source), "-o", objects[-1]])
        with replaced(path, readable_by_all=True) as linked:
            _run([compiler, *_LINK_FLAGS, *objects, "-o", str(linked)])


def _directories() -> tuple[Path, Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(sys.prefix, "lib", "centavo"), cache / "centavo"


def name_for(level: str) -> str:
    """Returns the file name of the library of these sources for a level of x86-64."""
    return f"centavo-kernels-{_digest(level)}-{level}.so"


def _digest(target: str) -> str:
    """Returns the digest of all that the library depends on: sources, flags, MXNet, and the processor."""
    origin = (_KERNEL_FLAGS, _EXACT_FLAGS, _LINK_FLAGS, _OPTIONS, mx.__version__, platform.machine(), target)
    digest = hashlib.sha256(repr(origin).encode())
    for path in sorted(SOURCES.glob("*.h")) + sorted(SOURCES.glob("*.cc")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"the C++ compiler {command[0]} cannot be used: {error}") from error
    if done.returncode:
        raise CompileError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
