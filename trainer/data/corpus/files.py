"""Parallel text from files, plain or .gz: line n of the source file translates to line n of the target file."""

from __future__ import annotations

import gzip
import zlib
from itertools import zip_longest
from pathlib import Path

from trainer.data.corpus.common import Corpus, CorpusError
from trainer.data.samples import Pair
from trainer.settings.data import CorpusSettings


def read_lines(path: Path) -> list[str]:
    """Returns the lines of a UTF-8 file, which may be .gz, as `lines_of` cuts them. Raises CorpusError."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"cannot read {path}: {error}") from error
    return lines_of(content, str(path))


def lines_of(content: bytes, name: str) -> list[str]:
    """Returns the lines of UTF-8 text, without byte order mark, line ends and outer blanks.

    Raises:
        CorpusError: A line is not UTF-8. The message has `name`, the name of the text, and the line's number from 1.
    """
    lines = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8").strip())
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{name}, line {number}: not UTF-8 text ({error.reason} at byte {error.start})"
            ) from error
    if lines and not lines[-1]:
        lines.pop()
    return lines


def read_pairs(source: Path, target: Path) -> list[Pair]:
    """Returns the pairs of two aligned files. Raises CorpusError, which names the line that is not aligned."""
    sources, targets = read_lines(source), read_lines(target)
    for path, lines in ((source, sources), (target, targets)):
        if not lines:
            raise CorpusError(f"{path} is empty")
    pairs: list[Pair] = []
    for number, (left, right) in enumerate(zip_longest(sources, targets), start=1):
        if left is None or right is None:
            ended, other = (source, target) if left is None else (target, source)
            raise CorpusError(
                f"{ended} ends before line {number}, which {other} still has "
                f"({len(sources)} and {len(targets)} lines): the files are not aligned"
            )
        if bool(left) != bool(right):
            raise CorpusError(f"line {number} is empty in {source if not left else target} only: not aligned")
        if left:
            pairs.append((left, right))
    return pairs


def _split(settings: CorpusSettings, name: str) -> list[Pair]:
    paths = getattr(settings, name)
    if len(paths) != 2:
        raise CorpusError(f"corpus `files` needs `{name}: [source file, target file]`, not {list(paths)}")
    return read_pairs(Path(paths[0]).expanduser(), Path(paths[1]).expanduser())


def load(settings: CorpusSettings) -> Corpus:
    """Reads the three splits that `settings` names. Files may be plain or .gz."""
    return Corpus("files", _split(settings, "train"), _split(settings, "validation"), _split(settings, "test"))
