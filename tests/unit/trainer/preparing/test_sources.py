"""Raw text is found and read, whatever its form and compression."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.support.raw_text import PAIRS, preparation
from trainer.data.prepared.prepared_corpus import open_corpus
from trainer.preparing.errors import PreparationError
from trainer.preparing.prepare import prepare_corpus
from trainer.preparing.sources.chunks import ReadFile, chunks_of
from trainer.preparing.sources.listing import Text, named, texts_of
from trainer.preparing.sources.opening import opened
from trainer.preparing.sources.parquet import _values

TEXT = b"".join(f"line {number}\n".encode() for number in range(5000))
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def zstd(data: bytes) -> bytes:
    module: Any = import_module("zstandard")
    return bytes(module.ZstdCompressor().compress(data))


def read(path: Path) -> bytes:
    with opened(str(path)) as (lines, file):
        content = b"".join(lines)
        assert file.bytes == path.stat().st_size
    return content


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_a_file_is_read_whatever_it_is_compressed_with_and_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(COMPRESSIONS[name](TEXT))
    assert read(path) == TEXT


def chunk_lines(path: Path) -> list[bytes]:
    text = Text("train", "tsv", (str(path),), ("1", "2"), "")
    return [line for chunk in chunks_of(text, []) for line in chunk.lines[0]]


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
def test_a_torn_file_is_told_with_the_last_line_that_could_be_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(COMPRESSIONS[name](TEXT)[:-20])
    with pytest.raises(PreparationError, match=r"text is torn or damaged: it cannot be read after line \d+"):
        chunk_lines(path)


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
def test_a_file_in_several_members_is_read_to_its_end_whatever_fills_it_up(name: str, tmp_path: Path) -> None:
    path, compress = tmp_path / "text", COMPRESSIONS[name]
    path.write_bytes(compress(TEXT) + bytes(8) + compress(b"") + compress(b"last\n") + bytes(70_000))
    assert read(path) == TEXT + b"last\n"


def flipped(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0xFF]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
@pytest.mark.parametrize("spoil", [flipped, lambda data: data[: len(data) // 2], lambda _: b"no member"])
def test_a_member_that_is_damaged_is_not_taken_for_the_end(
    name: str, spoil: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path, compress = tmp_path / "text", COMPRESSIONS[name]
    path.write_bytes(compress(TEXT) + spoil(compress(TEXT)))
    with pytest.raises(PreparationError, match=r"text is torn or damaged: it cannot be read after line \d+"):
        chunk_lines(path)


@pytest.mark.needs_tool("text")
def test_zstd_is_read_in_several_frames_and_a_torn_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(zstd(TEXT) + zstd(b"last\n"))
    assert read(path) == TEXT + b"last\n"
    path.write_bytes(zstd(TEXT)[:-9])
    with pytest.raises(PreparationError, match="is torn or damaged"):
        chunk_lines(path)


def test_without_its_package_zstd_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "text").write_bytes(b"\x28\xb5\x2f\xfd0000")
    with pytest.raises(PreparationError, match="pip install zstandard"):
        read(tmp_path / "text")


def test_chunks_know_their_place_and_the_files_their_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 2000)
    (tmp_path / "text").write_bytes(TEXT)
    files: list[ReadFile] = []
    chunks = list(chunks_of(Text("train", "tsv", (str(tmp_path / "text"),), ("1", "2"), ""), files))
    assert [(chunk.first, len(chunk.lines[0])) for chunk in chunks] == [(1, 2000), (2001, 2000), (4001, 1000)]
    assert [(file.bytes, len(file.sha256)) for file in files] == [(len(TEXT), 64)]


def test_globs_are_paired_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.en", "a.en", "b.pt", "a.pt"):
        (tmp_path / name).touch()
    settings = preparation(tmp_path / "x", train=[{"source": f"{tmp_path}/*.en", "target": f"{tmp_path}/*.pt"}])
    found = [tuple(Path(name).name for name in text.files) for text in texts_of(settings, "train")]
    assert found == [("a.en", "a.pt"), ("b.en", "b.pt")]
    (tmp_path / "b.pt").unlink()
    with pytest.raises(PreparationError, match=r"names 2 files and .* names 1: source and target files must come in"):
        texts_of(settings, "train")


def prepared_pairs(tmp_path: Path, train: dict[str, Any]) -> list[tuple[str, str]]:
    settings = preparation(tmp_path, train=[train], shard_pairs=1000)
    prepare_corpus(settings, 1)
    corpus = open_corpus(settings.output, tmp_path)
    (shard,) = corpus.shards("train", corpus.vocabulary(), with_text=True).all()
    assert shard.texts is not None
    return [shard.texts[index] for index in range(len(shard.texts))]


def test_columns_of_a_table_between_tabs(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"id\t{target}\tx\t{source}\n" for source, target in PAIRS[:100]))
    assert prepared_pairs(tmp_path, {"tsv": str(path), "columns": ["4", "2"]}) == PAIRS[:100]


def test_a_row_with_too_few_columns_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("a\tb\nc d\n")
    with pytest.raises(PreparationError, match=r"table\.tsv, line 2: 1 columns between tabs, and column 2 is needed"):
        prepared_pairs(tmp_path, {"tsv": str(path)})


@pytest.mark.needs_tool("text")
def test_columns_of_parquet(tmp_path: Path) -> None:
    pyarrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    columns = {"pt": [pair[1] for pair in PAIRS[:100]], "en": [pair[0] for pair in PAIRS[:100]], "n": list(range(100))}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet", row_group_size=30)
    assert prepared_pairs(tmp_path, {"parquet": str(tmp_path / "*.parquet")}) == PAIRS[:100]
    with pytest.raises(PreparationError, match=r"has no column de; it has pt, en, n"):
        prepared_pairs(tmp_path / "b", {"parquet": str(tmp_path / "t.parquet"), "columns": ["en", "de"]})
    (tmp_path / "t.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(PreparationError, match="cannot be read as Parquet"):
        prepared_pairs(tmp_path / "c", {"parquet": str(tmp_path / "t.parquet")})


def test_a_column_of_numbers_is_told() -> None:
    assert _values("t.parquet", "en", SimpleNamespace(to_pylist=lambda: ["a\nb", None])) == [b"a b", b""]
    with pytest.raises(PreparationError, match=r"t\.parquet: the column n is no text: it has 7"):
        _values("t.parquet", "n", SimpleNamespace(to_pylist=lambda: [None, 7]))


def test_without_its_package_parquet_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").touch()
    with pytest.raises(PreparationError, match="pip install pyarrow"):
        prepared_pairs(tmp_path, {"parquet": str(tmp_path / "t.parquet")})


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="texts")
        yield client


def test_text_and_corpus_may_lie_in_s3(tmp_path: Path, s3: Any) -> None:
    for name, side in (("a.en", 0), ("b.en", 0), ("a.pt", 1), ("b.pt", 1)):
        pairs = PAIRS[:50] if name[0] == "a" else PAIRS[50:100]
        s3.put_object(Bucket="texts", Key=f"raw/{name}", Body="\n".join(pair[side] for pair in pairs).encode())
    assert named("s3://texts/raw/a.en") == ["s3://texts/raw/a.en"]
    train = {"source": "s3://texts/raw/*.en", "target": "s3://texts/raw/*.pt"}
    here = preparation(tmp_path, train=[train])
    there = here.model_copy(update={"output": "s3://texts/corpora/one", "work": str(tmp_path / "elsewhere")})
    assert prepare_corpus(here, 1) == prepare_corpus(there, 1)
    listed = {one["Key"].removeprefix("corpora/one/") for one in
              s3.list_objects_v2(Bucket="texts", Prefix="corpora/")["Contents"]}  # fmt: skip
    assert listed == {str(path.relative_to(here.output)) for path in Path(here.output).rglob("*") if path.is_file()}
    with pytest.raises(PreparationError, match=r"s3://texts/raw/\*\.fr: there is no such file"):
        named("s3://texts/raw/*.fr")
