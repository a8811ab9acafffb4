"""Corpora: what they hold, and what a person is told when they cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trainer.data import corpus
from trainer.data.corpus import generated
from trainer.data.corpus.common import CorpusError
from trainer.data.corpus.generated import distinct_pairs
from trainer.settings.data import CorpusSettings
from trainer.settings.section import SettingsError, section_from

SMALL = CorpusSettings(pairs=300, held_out=50)


def write(path: Path, *lines: str) -> str:
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


def files(tmp_path: Path, source: list[str], target: list[str], suffix: str = "") -> CorpusSettings:
    pair = (write(tmp_path / f"a.en{suffix}", *source), write(tmp_path / f"a.pt{suffix}", *target))
    return CorpusSettings(kind="files", train=pair, validation=pair, test=pair)


def test_generated_corpus_is_the_same_for_the_same_seed() -> None:
    assert corpus.load(SMALL) == corpus.load(SMALL)


def test_generated_corpus_differs_for_another_seed() -> None:
    assert corpus.load(SMALL).train != corpus.load(SMALL.model_copy(update={"seed": 2})).train


def test_generated_splits_have_the_sizes_asked_for_and_share_no_sentence() -> None:
    made = corpus.load(SMALL)
    assert (len(made.train), len(made.validation), len(made.test)) == (300, 50, 50)
    sources = [source for split in (made.train, made.validation, made.test) for source, _ in split]
    assert len(set(sources)) == len(sources)


def test_generated_corpus_has_tens_of_thousands_of_distinct_pairs() -> None:
    assert len(corpus.load(CorpusSettings(pairs=40_000)).train) == 40_000


def test_generated_translations_are_those_of_cldr_and_num2words() -> None:
    made = dict(distinct_pairs(20_000, "en", "pt", seed=1))
    assert made["seventy-eight"] == "setenta e oito"
    assert any(source.startswith("Sunday, ") and target.startswith("domingo, ") for source, target in made.items())
    assert any(
        source.endswith(" Brazilian reals") and target.endswith(" Reais brasileiros") for source, target in made.items()
    )
    assert not any("duration-" in target for target in made.values())


def test_generated_corpus_has_no_blanks_but_single_spaces() -> None:
    for pair in distinct_pairs(2_000, "en", "pt", seed=1):
        for text in pair:
            assert text == " ".join(text.split(" ")) and "\xa0" not in text and "\u202f" not in text


def test_generated_corpus_goes_the_other_way_too() -> None:
    forth = corpus.load(SMALL)
    back = corpus.load(SMALL.model_copy(update={"source": "pt", "target": "en"}))
    assert {(target, source) for source, target in back.train} & set(forth.train)


def test_more_pairs_than_can_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "_KINDS", (generated._ordinal_in_words,))
    monkeypatch.setattr(generated, "_WEIGHTS", (1,))
    with pytest.raises(CorpusError, match="1000 distinct pairs cannot be made, only about 999"):
        distinct_pairs(1_000, "en", "pt", seed=1)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_are_read_line_by_line_plain_or_compressed(tmp_path: Path, suffix: str) -> None:
    read = corpus.load(files(tmp_path, ["one", "two  "], ["um", "dois"], suffix))
    assert read.train == [("one", "um"), ("two", "dois")]


def test_files_of_unequal_length_name_the_line_where_one_ends(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.pt ends before line 3, which .*a\.en still has \(4 and 2 lines\)"):
        corpus.load(files(tmp_path, ["1", "2", "3", "4"], ["1", "2"]))


def test_a_line_that_is_empty_on_one_side_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"line 2 is empty in .*a\.pt only"):
        corpus.load(files(tmp_path, ["1", "2", "3"], ["1", " ", "3"]))


def test_a_line_that_is_empty_on_both_sides_is_left_out(tmp_path: Path) -> None:
    assert corpus.load(files(tmp_path, ["1", "", "3"], ["1", "", "3"])).train == [("1", "1"), ("3", "3")]


def test_text_that_is_not_utf8_names_file_and_line(tmp_path: Path) -> None:
    settings = files(tmp_path, ["1", "2"], ["1", "2"])
    Path(settings.train[1]).write_bytes(b"bom dia\ncora\xe7\xe3o\n")
    with pytest.raises(CorpusError, match=r"a\.pt, line 2: not UTF-8"):
        corpus.load(settings)


def test_unicode_line_separators_do_not_end_a_line(tmp_path: Path) -> None:
    assert corpus.load(files(tmp_path, ["a\u2028b"], ["c\x85d"])).train == [("a\u2028b", "c\x85d")]


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.en is empty"):
        corpus.load(files(tmp_path, [], []))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    missing = (str(tmp_path / "no.en"), str(tmp_path / "no.pt"))
    with pytest.raises(CorpusError, match=r"cannot read .*no\.en"):
        corpus.load(CorpusSettings(kind="files", train=missing, validation=missing, test=missing))


def test_a_torn_gzip_file_is_named(tmp_path: Path) -> None:
    settings = files(tmp_path, ["1"], ["2"], ".gz")
    Path(settings.train[0]).write_bytes(gzip.compress(b"one\n" * 100)[:-9])
    with pytest.raises(CorpusError, match=r"cannot read .*a\.en\.gz"):
        corpus.load(settings)


def test_files_without_a_split_say_which(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="`test: "):
        corpus.load(files(tmp_path, ["1"], ["2"]).model_copy(update={"test": ()}))


def multi30k(tmp_path: Path) -> CorpusSettings:
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            write(tmp_path / f"{name}.{language}.gz", f"{name} {language} raw")
            write(tmp_path / f"{name}.lc.norm.tok.{language}.gz", f"{name} {language} tokenised")
    return CorpusSettings(kind="multi30k", target="de", directory=str(tmp_path))


def test_multi30k_is_read_tokenised_or_raw(tmp_path: Path) -> None:
    settings = multi30k(tmp_path)
    assert corpus.load(settings).test == [("test_2016_flickr en tokenised", "test_2016_flickr de tokenised")]
    assert corpus.load(settings.model_copy(update={"text": "raw"})).validation == [("val en raw", "val de raw")]


def test_multi30k_names_the_file_that_is_missing(tmp_path: Path) -> None:
    settings = multi30k(tmp_path)
    (tmp_path / "val.lc.norm.tok.de.gz").unlink()
    with pytest.raises(CorpusError, match=r"val\.lc\.norm\.tok\.de\.gz"):
        corpus.load(settings)


@pytest.mark.parametrize(("kind", "name", "target"), [("iwslt2015", "IWSLT2015", "vi"), ("wmt2014", "WMT2014", "de")])
def test_a_corpus_to_download_says_what_to_do_without_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, name: str, target: str
) -> None:
    import gluonnlp

    def unreachable(*_: object, **__: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(gluonnlp.data, name, unreachable)
    with pytest.raises(CorpusError, match=r"Name or service not known.*network.*`directory`.*`generated`"):
        corpus.load(CorpusSettings(kind=kind, target=target, directory=str(tmp_path)))  # type: ignore[arg-type]


def test_a_downloaded_corpus_has_the_three_splits_in_the_direction_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import gluonnlp

    def data(segment: str, src_lang: str, tgt_lang: str) -> list[tuple[str, str]]:
        return [(f"{segment} {src_lang}", f"{segment} {tgt_lang}"), ("lone", " ")]

    monkeypatch.setattr(gluonnlp.data, "IWSLT2015", data)
    read = corpus.load(CorpusSettings(kind="iwslt2015", source="vi", target="en"))
    assert (read.train, read.test) == ([("train vi", "train en")], [("test vi", "test en")])


def test_languages_that_a_corpus_lacks_are_refused() -> None:
    with pytest.raises(CorpusError, match="en-pt"):
        corpus.load(CorpusSettings(target="fr"))


def test_an_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="kind: must be one of generated, files, multi30k, iwslt2015, wmt2014"):
        section_from(CorpusSettings, {"kind": "opus"})


def test_a_damaged_gz_file_is_told(tmp_path: Path) -> None:
    settings = files(tmp_path, ["one"], ["um"], ".gz")
    content = bytearray((tmp_path / "a.pt.gz").read_bytes())
    content[10] |= 6  # the first block has a type that there is not
    (tmp_path / "a.pt.gz").write_bytes(content)
    with pytest.raises(CorpusError, match=r"cannot read .*a\.pt\.gz: .*invalid block type"):
        corpus.load(settings)
