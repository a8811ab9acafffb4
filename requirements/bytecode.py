"""Keeps the compiled form of all modules that some imports load, so that nodes need not compile them.

    ENVIRONMENT/bin/python requirements/bytecode.py bytecode.zip mxnet gluonnlp horovod.mxnet

The Python that runs this program imports the modules. Every module from its packages goes into the archive as
`PACKAGE/__pycache__/MODULE.cpython-311.pyc`. Where it is unpacked over the packages of another environment, Python uses
it while the source is the same: the file holds the source's hash and not its time.
"""

from __future__ import annotations

import importlib
import py_compile
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path

EARLIEST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def main(arguments: Sequence[str]) -> int:
    """Writes the archive that the first argument names, for the modules that the others name."""
    archive, *modules = arguments
    for module in modules:
        importlib.import_module(module)
    write(Path(archive), Path(sysconfig.get_path("purelib")))
    return 0


def write(archive: Path, packages: Path) -> None:
    """Writes the compiled form of all modules that are loaded and lie below the folder `packages`."""
    files = {Path(file) for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    with tempfile.TemporaryDirectory() as work, zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as entries:
        for source in sorted(file for file in files if file.suffix == ".py" and file.is_relative_to(packages)):
            name = str(source.relative_to(packages))
            compiled = py_compile.compile(
                str(source), str(Path(work, "one.pyc")), name, doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
            )  # fmt: skip
            entry = zipfile.ZipInfo(cache_from_source(name), EARLIEST_ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entries.writestr(entry, Path(str(compiled)).read_bytes())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
