"""Fused operators in C++ for the CPU: compiled once per machine, loaded into MXNet as a library of operators.

They compute what GluonNLP's blocks compute, with fewer passes over memory. A machine without a C++ compiler, or
`CENTAVO_KERNELS=off`, does without them: slower, with the same results to float32 rounding.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import platform
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import mxnet as mx

_SOURCES = Path(__file__).parent
_LIBRARY_FLAGS = ("-std=c++17", "-fPIC", "-O1")
# Fast mathematics, but a NaN has to stay one; the flag is not given to the linker, which would change the rounding of
# the whole process (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=55522).
_KERNEL_FLAGS = ("-std=c++17", "-fPIC", "-O3", "-march=native", "-ffast-math", "-fno-finite-math-only", "-fopenmp")
# The same bits on every processor: no fused multiply-add, which some lack.
_EXACT_FLAGS = ("-std=c++17", "-fPIC", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fopenmp")
# Horovod's library is loaded for all to see: without this its symbols replace ours, and loading dies of SIGFPE.
_LINK_FLAGS = ("-shared", "-fopenmp", "-Wl,-Bsymbolic")
_COMPILE_LIMIT_S = 300

_log = logging.getLogger(__name__)


class CompileError(RuntimeError):
    """The kernels cannot be compiled here; says why."""


@lru_cache(maxsize=1)
def load() -> bool:
    """Make the operators `mx.nd.centavo_*` available, compiling them at the first call on a machine (some 10 s).

    Gives whether they are; the reason why not is logged once.
    """
    if os.environ.get("CENTAVO_KERNELS", "on") == "off":
        return False
    try:
        mx.library.load(str(compiled()), verbose=False)
    except (CompileError, OSError, mx.MXNetError) as error:
        _log.warning("training goes on without fused kernels, slower: %s", str(error).strip().splitlines()[0])
        return False
    return True


def compiled() -> Path:
    """The library for this machine's processor and these sources, compiled when there is none yet.

    It lies in the Python environment, or in the user's cache where that may not be written. Ranks that share a machine
    wait for the first to compile. Raises CompileError.
    """
    name = f"centavo-kernels-{_digest()}.so"
    candidates = [directory / name for directory in _directories()]
    for path in candidates:
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
                _compile(path)
        return path
    raise CompileError(f"neither {candidates[0].parent} nor {candidates[1].parent} can be written")


def _directories() -> tuple[Path, Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(sys.prefix, "lib", "centavo"), cache / "centavo"


def _digest() -> str:
    """Of everything that the library depends on: sources, flags, MXNet, and the processor, since it is made for it."""
    origin = (_KERNEL_FLAGS, _EXACT_FLAGS, _LINK_FLAGS, mx.__version__, platform.machine(), _processor())
    digest = hashlib.sha256(repr(origin).encode())
    for path in sorted(_SOURCES.glob("*.h")) + sorted(_SOURCES.glob("*.cc")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def processor_has(flag: str) -> bool:
    """Whether Linux lists `flag` among the processor's abilities (/proc/cpuinfo)."""
    return flag in _processor().split()


def _compile(path: Path) -> None:
    mxnet = Path(mx.__file__).parent
    include = f"-I{mxnet / 'include'}"
    compiler = os.environ.get("CXX", "g++")
    sources = {
        _SOURCES / "operators.cc": _KERNEL_FLAGS,
        _SOURCES / "adam.cc": _EXACT_FLAGS,
        mxnet / "src" / "lib_api.cc": _LIBRARY_FLAGS,
    }
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        linked, objects = str(Path(directory, "linked.so")), []
        for source, flags in sources.items():
            objects.append(str(Path(directory, f"{source.stem}.o")))
            _run([compiler, *flags, include, "-c", str(source), "-o", objects[-1]])
        _run([compiler, *_LINK_FLAGS, *objects, "-o", linked])
        os.replace(linked, path)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"the C++ compiler {command[0]} cannot be used: {error}") from error
    if done.returncode:
        raise CompileError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
