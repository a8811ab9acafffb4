"""What a training needs memory for is told item by item, before anything large is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.raw_text import preparation
from tests.support.small_training import small
from trainer.cli import main
from trainer.data.prepared.manifest import Manifest
from trainer.model.build import build
from trainer.preparing.prepare import prepare_corpus
from trainer.settings.model import PRESETS, ModelSettings
from trainer.settings.training import Settings
from trainer.training import prepare as preparing
from trainer.training.errors import NodeTooSmallError
from trainer.training.memory_plan import Item, MemoryPlan, parameter_count, plan_of, token_bytes
from trainer.training.memory_preflight import shortage, table
from trainer.training.prepare import prepare

MIB = 1024**2
PLAN = MemoryPlan([Item("process", 700)], [Item("copy", 300)], [], per_token=10, global_tokens=4096, longest=60)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return prepare_corpus(preparation(tmp_path_factory.mktemp("corpus")), 1)


def need(name: str, settings: Settings, manifest: Manifest | None = None) -> int:
    plan = plan_of(settings, manifest)
    found = [item for item in (*plan.items, *plan.while_training, *plan.at_the_end) if item.name.startswith(name)]
    assert found, f"there is no {name}"
    return sum(item.bytes for item in found)


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"layers": 2, "units": 64, "hidden": 96, "heads": 2},
        {"layers": 5, "decoder_layers": 1},
        {"layers": 1, "units": 16, "hidden": 16, "heads": 2, "norm": "pre"},
    ],
)
def test_parameters_are_counted_as_the_model_has_them(overrides: dict[str, Any]) -> None:
    settings = ModelSettings(preset="tiny", **overrides)
    parameters = build(settings, 500).parameters().values()
    built = sum(int(np.prod(parameter.shape)) for parameter in parameters)
    assert parameter_count(settings.architecture(), 500) == pytest.approx(built, rel=0.002)


def test_more_of_anything_needs_more(tmp_path: Path) -> None:
    tiny, base = PRESETS["tiny"], PRESETS["base"]
    assert token_bytes(base, 800, 60) > token_bytes(tiny, 800, 60)
    assert token_bytes(tiny, 8000, 60) > token_bytes(tiny, 800, 60)
    assert token_bytes(tiny, 800, 60, "bfloat16") > token_bytes(tiny, 800, 60)
    in_tiles = token_bytes(tiny, 800, 60, "bfloat16", keeps_scores=False)
    assert in_tiles == token_bytes(tiny, 80_000, 60, "bfloat16", keeps_scores=False) < token_bytes(tiny, 800, 60)
    plain, sums = small(tmp_path), small(tmp_path, batch={"tokens": 256, "max_tokens": 120, "accumulate": 2})
    assert need("gradients", sums) == 2 * need("gradients", plain)
    assert need("corpus", small(tmp_path, corpus={"pairs": 10_000})) > need("corpus", plain)
    wide = small(tmp_path, translate={"beam_size": 8, "batch_size": 512})
    assert need("translating", wide) > 10 * need("translating", plain)
    averaged = small(tmp_path, checkpoint={"every_steps": 4, "average": 2})
    assert need("mean", averaged) == 5 * need("parameters", plain) > need("mean", plain) == 0


def test_copies_for_commits_and_checkpoints_are_counted(tmp_path: Path) -> None:
    settings = small(tmp_path, model={"preset": "big"})
    parameters = need("parameters", settings)
    assert need("optimizer", settings) == 2 * parameters
    assert need("commit", settings) == need("the commit before it", settings) == 3 * parameters
    assert need("checkpoint that is written", settings) == 3 * parameters
    assert need("checkpoint that waits", settings) == 64 * MIB


def test_a_prepared_corpus_takes_a_few_shards_however_many_there_are(tmp_path: Path, manifest: Manifest) -> None:
    settings = small(tmp_path)
    many = Manifest(
        "en", "pt", manifest.vocabulary, {**manifest.splits, "train": manifest.splits["train"] * 100}, manifest.prepared
    )
    assert need("corpus", settings, many) == need("corpus", settings, manifest) < MIB
    dropout = small(tmp_path, vocabulary={"dropout": 0.1})
    assert need("corpus", dropout, manifest) > 1.5 * need("corpus", settings, manifest)


def test_a_manifest_tells_the_vocabulary_and_the_longest_sentence(tmp_path: Path, manifest: Manifest) -> None:
    settings = small(tmp_path, vocabulary={"size": 5000})
    assert need("parameters", settings, manifest) < need("parameters", settings)
    assert plan_of(settings, manifest).longest < settings.batch.max_tokens
    assert plan_of(small(tmp_path, vocabulary={"dropout": 0.1}), manifest).longest == settings.batch.max_tokens


def test_a_shortage_tells_both_numbers() -> None:
    assert shortage(100, 100) is None
    reason = shortage(3 * 1024**3, 1024**3)
    assert reason is not None
    assert reason.startswith("out of memory: the training needs about 3,072 MiB here and the node has 1,024 MiB: take")


def test_the_largest_share_is_what_fits() -> None:
    assert PLAN.largest_share(1000 + 10 * 2048) == pytest.approx(0.5)
    assert PLAN.largest_share(10**9) is None
    assert PLAN.largest_share(10) == 0.0


def test_the_larger_need_at_the_end_comes_on_top_of_what_the_steps_took() -> None:
    at_the_end = [Item("mean", 10**6), Item("translating", 10**9)]
    wide = MemoryPlan(PLAN.items, PLAN.while_training, at_the_end, 10, 4096, 60)
    assert PLAN.total(100) == 2000
    assert wide.total(100) == 10**9 + 2000
    assert wide.largest_share(10**9 + 1000 + 10 * 2048) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        (10**9, "All of it fits."),
        (1000 + 10 * 2048, "The node can take up to 50% of each global batch."),
        (1000, "The node is too small."),
    ],
)
def test_the_table_ends_with_what_a_node_can_do(available: int, expected: str) -> None:
    lines = table(PLAN, available).splitlines()
    assert lines[0].split() == ["process", "0", "MiB"]
    assert lines[-1] == expected


def test_a_node_that_is_too_small_is_told_before_the_corpus_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("the corpus is read")

    monkeypatch.setattr(preparing, "prepare_on_the_way", never)
    monkeypatch.setenv("CENTAVO_EMULATED_MEMORY_BYTES", str(500 * MIB))
    with pytest.raises(NodeTooSmallError, match=r"needs about [\d,]+ MiB here and the node has 500 MiB"):
        prepare(small(tmp_path, corpus={"pairs": 10_000_000}))


def test_a_node_that_is_too_small_is_told_before_a_prepared_corpus_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = preparation(tmp_path)
    prepare_corpus(made, 1)
    next(Path(made.output).glob("train/*.ids")).unlink()  # nobody looks at it
    monkeypatch.setenv("CENTAVO_EMULATED_MEMORY_BYTES", str(400 * MIB))
    with pytest.raises(NodeTooSmallError, match="the node has 400 MiB"):
        prepare(small(tmp_path, corpus={"kind": "prepared", "directory": made.output}))


def test_the_command_shows_the_plan_for_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "training.yml"
    config.write_text(small(tmp_path).model_dump_json())
    assert main(["plan-memory", "--config", str(config), "--memory-mib", "300", "--set", "model.layers=2"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == "The node is too small."
    assert "checkpoint that is written" in shown and "300 MiB" in shown
    assert main(["plan-memory", "--config", str(config), "--memory-mib", "30000"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "All of it fits."


def test_r_drop_takes_twice_the_memory_for_a_token(tmp_path: Path) -> None:
    plain, both = (plan_of(small(tmp_path, model={"r_drop": weight}), None) for weight in (0.0, 5.0))
    assert both.per_token == 2 * plain.per_token
    assert both.fixed == plain.fixed


def test_a_shallow_decoder_takes_less_than_a_deep_one(tmp_path: Path) -> None:
    deep, shallow = (plan_of(small(tmp_path, model={"layers": 6, "decoder_layers": n}), None) for n in (None, 1))
    assert shallow.per_token < deep.per_token
    assert shallow.least < deep.least
