"""Scores are sacreBLEU's, and the share of exact matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer import cli
from trainer.inference.score import score, statistics_of

REFERENCES = ["the cat sat on the mat today", "a dog barks at the red moon"]


def test_equal_texts_score_full_marks() -> None:
    result = score(REFERENCES, REFERENCES)
    assert result.bleu == pytest.approx(100)
    assert result.exact_match == 1


def test_the_score_is_that_of_sacrebleu() -> None:
    import sacrebleu

    hypotheses = ["the cat sat on a mat today", "a dog barks at the red moon"]
    result = score(hypotheses, REFERENCES)
    assert result.bleu == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [REFERENCES]).score)
    assert result.exact_match == 0.5


def test_the_signature_tells_how_the_words_were_cut() -> None:
    assert "tok:none" in score(REFERENCES, REFERENCES, tokenize="none").signature
    assert "case:lc" in score(REFERENCES, REFERENCES, lowercase=True).signature


@pytest.mark.parametrize("hypotheses", [[], ["one"]])
def test_numbers_of_sentences_that_differ_are_refused(hypotheses: list[str]) -> None:
    with pytest.raises(ValueError, match=f"{len(hypotheses)} translations against 2 references"):
        score(hypotheses, REFERENCES)


def test_files_are_cut_into_lines_at_line_ends_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    left.write_bytes("one\u2028two three four five\nsix seven eight nine ten\n".encode())
    right.write_bytes("\ufeffone\u2028two three four five\r\nsix seven eight nine ten\r\n".encode())
    assert cli.main(["score", str(left), str(right)]) == 0
    told = capsys.readouterr().out
    assert "BLEU 100.00" in told and "exact match 100.00%" in told


def test_the_statistics_of_parts_add_up_to_the_score_of_the_whole() -> None:
    hypotheses = ["the cat sat on a mat today", "A dog", "", "a dog barks at the red moon"]
    references = [*REFERENCES, "nothing", REFERENCES[1]]
    parts = statistics_of(hypotheses[:1], references[:1]) + statistics_of(hypotheses[1:], references[1:])
    assert parts.score() == score(hypotheses, references)
