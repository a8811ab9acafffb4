"""Normalising and filtering one pair at a time."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from trainer.preparing.cleaning import language
from trainer.preparing.cleaning.chunk import hashes
from trainer.preparing.cleaning.filters import Reason, filters_of
from trainer.preparing.cleaning.normalise import normaliser
from trainer.preparing.cleaning.scripts import is_in_script, scripts_of
from trainer.preparing.errors import PreparationError
from trainer.settings.preparation import NormaliseSettings, PreparationSettings
from trainer.settings.section import section_from


def settings(target: str = "de", **filters: Any) -> PreparationSettings:
    keys = {"source": "en", "target": target, "output": "o", "train": [{"tsv": "a"}], "held_out": 1}
    return section_from(PreparationSettings, {**keys, "filters": filters})


def reason(source: str, target: str, to: str = "de", **filters: Any) -> Reason | None:
    tests = filters_of(settings(to, **filters))
    return next((one for one, is_bad in tests if is_bad(source, target)), None)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("  a \t b\u00a0c\r\n", "a b c"),
        ("\ufeffa\u200bb\x00", "ab"),
        ("e\u0301", "é"),
        ("می\u200cروم", "می\u200cروم"),
    ],
)
def test_a_sentence_is_normalised(raw: str, expected: str) -> None:
    assert normaliser(NormaliseSettings())(raw) == expected


def test_what_is_switched_off_is_not_done() -> None:
    as_it_is = normaliser(NormaliseSettings(unicode="none", spaces=False, control=False))
    assert as_it_is(" e\u0301  \u200b&amp;") == "e\u0301  \u200b&amp;"
    assert normaliser(NormaliseSettings(unicode="NFKC", entities=True))("ﬁ &amp; ½") == "fi & 1⁄2"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("A house.", "Ein Haus.", None),
        ("12:30", "12.30", None),
        ("", "Ein Haus.", Reason.EMPTY),
        ("OK", "OK", Reason.IDENTICAL),
        ("a " * 251, "b " * 250, Reason.TOO_LONG),
        ("a " * 249 + "a", "b " * 249 + "b", None),
        ("a" * 2001, "b" * 2001, Reason.TOO_LONG),
        ("Yes, of course I do.", "Ja.", Reason.RATIO),
        ("A house.", "Это дом.", Reason.SCRIPT),
        ("The word дом means house.", "Das Wort дом heißt Haus.", None),
    ],
)
def test_a_pair_is_left_out_for_a_reason(source: str, target: str, expected: Reason | None) -> None:
    assert reason(source, target) is expected


def test_each_filter_can_be_switched_off() -> None:
    assert reason("OK", "OK", identical=False) is None
    assert reason("a " * 251, "b " * 250, max_words=None) is None
    assert reason("a" * 2001, "b" * 2001, max_characters=None) is None
    assert reason("Yes, of course I do.", "Ja.", max_ratio=None) is None
    assert reason("A house.", "Это дом.", script=False) is None


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("ru", "Это дом.", True),
        ("ru", "A house.", False),
        ("ru", "2019", True),
        ("zh", "这是房子。", True),
        ("ja", "これは家です。", True),
        ("zh_CN", "これはいえです", False),
        ("en", "naïve café", True),
        ("en", "Ελλάδα", False),
        ("sr", "кућа", True),
        ("sr", "kuća", True),
    ],
)
def test_scripts_are_told_apart(code: str, text: str, expected: bool) -> None:
    assert is_in_script(code)(text) is expected


def test_a_language_has_its_scripts() -> None:
    assert (scripts_of("pt_BR"), scripts_of("ja"), scripts_of("xx")) == (
        ("Latin",),
        ("Han", "Hiragana", "Katakana"),
        (),
    )


def test_near_hashes_ignore_case_accents_punctuation_and_blanks() -> None:
    pairs = [("A café!", "Ein Café."), ("a  cafe", "ein cafe"), ("a cafe 2", "ein cafe"), ("a cafeein", "cafe")]
    pairs += [("किताब", "book"), ("कतब", "book")]  # the vowels of Devanagari are marks, and no accents
    exact, near = hashes(pairs)
    assert len(set(exact)) == 6
    assert near[4] != near[5]
    assert near[0] == near[1] and len({near[1], near[2], near[3]}) == 3


def test_a_language_that_is_identified_as_another_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Detector:
        def detect_language_of(self, text: str) -> str | None:
            return {"Ein Haus.": "DE", "A house.": "EN"}.get(text)

    class Builder:
        from_all_languages = with_low_accuracy_mode = lambda *_: Builder()

        def build(self) -> Detector:
            return Detector()

    codes = SimpleNamespace(EN="EN", DE="DE")
    fake = SimpleNamespace(
        LanguageDetectorBuilder=Builder(),
        IsoCode639_1=codes,
        Language=SimpleNamespace(from_iso_code_639_1=lambda code: code),
    )
    monkeypatch.setitem(sys.modules, "lingua", fake)
    language._detector.cache_clear()
    assert reason("A house.", "Ein Haus.", language=True) is None
    assert reason("A house.", "A house, in English", language=True) is None  # it cannot be told
    assert reason("Ein Haus.", "A house.", language=True) is Reason.LANGUAGE
    with pytest.raises(PreparationError, match="does not know the language xx"):
        reason("a", "b", to="xx", language=True)
    language._detector.cache_clear()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lingua", None)
    language._detector.cache_clear()
    with pytest.raises(PreparationError, match="pip install lingua-language-detector"):
        reason("a", "b", language=True)


@pytest.mark.needs_tool("text")
def test_the_language_is_identified_by_lingua_itself() -> None:
    language._detector.cache_clear()
    assert reason("This is a small house.", "Das ist ein kleines Haus.", language=True) is None
    assert reason("This is a small house.", "This is not a small house.", language=True) is Reason.LANGUAGE
