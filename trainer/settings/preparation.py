"""The settings of `python -m trainer prepare`: how raw text becomes a prepared corpus."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, Strict, model_validator

from trainer.settings.data import Separate, check_taken
from trainer.settings.section import Number, Section, Texts

TAG = re.compile(r"<[^\s<>]+>")


class SourceSettings(Section):
    """Raw text: two parallel files, or a table in TSV or Parquet.

    Names may be globs (`*`, `?`, `[]`) and may begin with s3://. Files may be compressed by gzip, bzip2, xz or zstd.
    """

    source: str | None = Field(default=None, description="the file of the source sentences, one a line")
    target: str | None = Field(default=None, description="the file of their translations, one a line")
    tsv: str | None = Field(default=None, description="a file with a pair a line, in columns between tabs")
    parquet: str | None = Field(default=None, description="a Parquet file (needs the package pyarrow)")
    columns: Texts = Field(
        default=(),
        description="the columns of source and target: numbers from 1 for tsv (default: 1 and 2), names for parquet "
        "(default: the two languages)",
    )
    tag: str | None = Field(
        default=None,
        description="a mark such as <news> or <2de> before every source sentence of this text: its domain, or the "
        "language to translate to. It is one piece of the vocabulary. Whoever translates may write it, too",
    )

    @model_validator(mode="after")
    def _check(self) -> SourceSettings:
        is_parallel = self.source is not None and self.target is not None
        kinds = [is_parallel, self.tsv is not None, self.parquet is not None]
        if sum(kinds) != 1 or (not is_parallel and (self.source or self.target)):
            raise ValueError("each text needs either source and target, or tsv, or parquet")
        if self.columns and (is_parallel or len(self.columns) != 2):
            raise ValueError("columns are two, of source and target, and belong to tsv or parquet")
        if self.tsv is not None and not all(one.isdigit() and int(one) for one in self.columns):
            raise ValueError(f"columns of a tsv are numbers from 1, not {list(self.columns)}")
        if self.tag is not None and not TAG.fullmatch(self.tag):
            raise ValueError(f"a tag is written as <word>, not {self.tag!r}")
        return self


Sources = Annotated[tuple[SourceSettings, ...], Strict(False)]


class NormaliseSettings(Section):
    """What is done to every sentence before anything else."""

    unicode: Literal["NFC", "NFKC", "none"] = Field(default="NFC", description="the Unicode normal form")
    spaces: bool = Field(default=True, description="runs of blanks of any kind become one space")
    control: bool = Field(default=True, description="control characters and marks without width are taken out")
    entities: bool = Field(default=False, description="entities of HTML, such as &amp;, become their characters")


class FilterSettings(Section):
    """Which pairs are left out of the training text. Each filter tells how many, and shows some of them.

    Pairs for validation and for the test are only normalised: scores stay comparable. Where one side of them is empty,
    that is an error.
    """

    empty: Literal["drop", "refuse"] = Field(
        default="drop", description="a pair with one empty side: left out, or an error that names file and line"
    )
    duplicates: bool = Field(default=True, description="leave out all but the first of equal pairs")
    near_duplicates: bool = Field(
        default=True,
        description="leave out pairs that differ from an earlier one only in case, accents, punctuation and blanks, as "
        "Bifixer does (Ramírez-Sánchez et al. 2020, https://aclanthology.org/2020.eamt-1.31)",
    )
    held_out: bool = Field(default=True, description="leave out pairs that the validation or the test split has")
    identical: bool = Field(default=True, description="leave out pairs whose sides are the same")
    max_words: int | None = Field(default=250, ge=1, description="the most words of a sentence; null: any number")
    max_characters: int | None = Field(default=2000, ge=1, description="the most characters of one; null: any number")
    max_ratio: Number | None = Field(
        default=3.0, gt=1, description="how many times as many bytes one side may have as the other; null: any"
    )
    script: bool = Field(
        default=True,
        description="leave out sentences of which more than half of the letters are not of their language's script",
    )
    language: bool = Field(
        default=False,
        description="leave out sentences that the package lingua-language-detector takes for another language",
    )


class LearningSettings(Section):
    """The vocabulary: SentencePiece learns it from a sample of the training text, or one that exists is taken over."""

    size: int = Field(default=32_000, ge=300, description="the most pieces")
    kind: Literal["bpe", "unigram"] = Field(
        default="bpe", description="bpe (byte pairs; BPE-dropout needs it) or unigram (Kudo 2018)"
    )
    sample: int = Field(default=2_000_000, ge=1, description="sentences that it is learned from, of both languages")
    separate: Separate = False
    taken: str | None = Field(
        default=None,
        description="a SentencePiece model to take over in place of learning one: a file, or s3://bucket/key",
    )

    @model_validator(mode="after")
    def _check(self) -> LearningSettings:
        check_taken(self.taken, self.separate)
        return self


class PreparationSettings(Section):
    """One preparation."""

    source: str = Field(description="the language to translate from, as a code such as en")
    target: str = Field(description="the language to translate to")
    output: str = Field(description="where the prepared corpus is written: a folder, or s3://bucket/prefix")
    work: str = Field(
        default="~/.cache/centavo/preparing",
        description="a folder for unfinished work: about three times the size of the text. It is emptied at the end; "
        "what was begun is continued from it",
    )
    train: Sources = Field(description="the text to train on")
    validation: Sources = Field(default=(), description="the text to validate on")
    test: Sources = Field(default=(), description="the text to translate at the end")
    held_out: int = Field(
        default=0,
        ge=0,
        description="pairs that are taken out of the training text for validation, and as many for the test, where "
        "these have no text of their own",
    )
    shard_pairs: int = Field(
        default=65_536, ge=1, description="pairs of a shard, on average. A rank maps two or three shards at a time"
    )
    seed: int = Field(default=1, description="decides which pair goes to which shard, and what is held out")
    normalise: NormaliseSettings = NormaliseSettings()
    filters: FilterSettings = FilterSettings()
    vocabulary: LearningSettings = LearningSettings()

    @model_validator(mode="after")
    def _check(self) -> PreparationSettings:
        if not self.train:
            raise ValueError("train: name at least one text")
        for split in ("validation", "test"):
            if bool(getattr(self, split)) == bool(self.held_out):
                raise ValueError(
                    f"{split}: name a text for it, or set held_out to take pairs from the training text; one of the two"
                )
        if self.held_out and self.filters.held_out and not (self.filters.duplicates or self.filters.near_duplicates):
            raise ValueError(
                "held_out: where duplicates stay in the text, copies of the pairs that are taken out for validation "
                "and test stay in it, too, and scores mean nothing: leave filters.duplicates on, name texts for both, "
                "or set filters.held_out to false if that is what you want"
            )
        return self
