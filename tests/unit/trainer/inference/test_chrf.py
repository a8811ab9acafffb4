"""chrF is sacreBLEU's."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer import cli
from trainer.inference.chrf import character_score

REFERENCES = ["the cat sat on the mat today", "a dog barks at the red moon"]


def test_the_score_is_that_of_sacrebleu() -> None:
    import sacrebleu

    hypotheses = ["the cat sat on a mat today", "a dog barks at the red moon"]
    expected = sacrebleu.corpus_chrf(hypotheses, [REFERENCES]).score
    assert character_score(hypotheses, REFERENCES).chrf == pytest.approx(expected)
    assert expected < character_score(REFERENCES, REFERENCES).chrf == pytest.approx(100)


def test_case_is_ignored_where_that_is_asked_for_and_the_signature_tells() -> None:
    loud = [reference.upper() for reference in REFERENCES]
    ignored = character_score(loud, REFERENCES, lowercase=True)
    assert ignored.chrf == pytest.approx(100)
    assert "case:lc" in ignored.signature
    assert character_score(loud, REFERENCES).chrf < 50


@pytest.mark.parametrize("hypotheses", [[], ["one"]])
def test_numbers_of_sentences_that_differ_are_refused(hypotheses: list[str]) -> None:
    with pytest.raises(ValueError, match=f"{len(hypotheses)} translations against 2 references"):
        character_score(hypotheses, REFERENCES)


def test_the_command_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("\n".join(REFERENCES))
    assert cli.main(["score", str(tmp_path / "text"), str(tmp_path / "text")]) == 0
    assert "chrF 100.00" in capsys.readouterr().out
