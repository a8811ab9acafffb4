"""Settings are checked as a whole before anything begins, and messages name the key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from trainer.checkpoint.origin import fingerprint
from trainer.settings.file import read
from trainer.settings.help import help_on_settings
from trainer.settings.section import Section, SettingsError, section_from
from trainer.settings.training import Settings


def settings_from(data: object) -> Settings:
    return section_from(Settings, data)


def test_everything_but_the_amount_of_work_has_a_default() -> None:
    settings = settings_from({"stop": {"steps": 10}})
    assert settings.stop.steps == 10
    assert settings.model.preset == "tiny"
    assert settings.balance.enabled


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "stop: is missing"),
        ({"stop": {}}, "say when to stop"),
        ({"stop": {"steps": 0}}, "stop: steps, tokens and epochs must be 1 or more"),
        ({"stop": {"steps": 5}, "modle": {}}, "modle: unknown key; did you mean model?"),
        ({"stop": {"steps": 5}, "model": {"unitz": 3}}, "model.unitz: unknown key; did you mean units?"),
        ({"stop": {"steps": "many"}}, "stop.steps: expected a whole number, not 'many'"),
        ({"stop": {"steps": True}}, "stop.steps: expected a whole number"),
        ({"stop": {"steps": 5}, "balance": {"enabled": 1}}, "balance.enabled: expected true or false"),
        ({"stop": {"steps": 5}, "horovod": {"compression": "zip"}}, "horovod.compression: must be one of none, fp16"),
        ({"stop": {"steps": 5}, "horovod": {"autotune_log": "a.csv"}}, "autotune_log needs autotune: true"),
        (
            {"stop": {"steps": 5}, "horovod": {"autotune": True, "cycle_time_ms": 5}},
            "autotune searches cycle_time_ms: leave out one or the other",
        ),
        ({"stop": {"steps": 5}, "model": {"units": 30}}, "model: 30 units cannot be divided among 4 heads"),
        ({"stop": {"steps": 5}, "batch": {"max_tokens": 999}}, "above model.max_length"),
        ({"stop": {"steps": 5}, "checkpoint": {"keep": 2, "average": 3}}, "average must be from 1 to keep (2)"),
        ({"stop": {"steps": 5}, "checkpoint": {"every_steps": None, "average": 3}}, "average needs checkpoints"),
        ({"stop": {"steps": 5, "patience": 3}}, "needs validate_every_steps"),
        (
            {"stop": {"steps": 5}, "optimizer": {"learning_rate": -1}},
            "optimizer.learning_rate: must be positive",
        ),
        ({"stop": {"steps": 5}, "corpus": {"train": "a.txt"}}, "corpus.train: expected a list"),
        ({"stop": {"steps": 5}, "validation": {"decode": "greedy"}}, "set stop.validate_every_steps"),
        ({"stop": {"steps": 5}, "validation": {"measure": "bleu"}}, "validation: measure bleu needs translations"),
        ({"stop": {"steps": 5}, "validation": {"sentences": 9}}, "validation: sentences says how many are translated"),
        ({"stop": {"steps": 5}, "validation": {"measure": "ter"}}, "must be one of loss, perplexity, bleu, chrf"),
        ({"stop": {"steps": 5}, "checkpoint": {"keep_best": 2}}, "checkpoint.keep_best goes by validations"),
        (
            {"stop": {"steps": 5, "validate_every_steps": 1}, "checkpoint": {"average_of": "best", "average": 2}},
            "average must be from 1 to keep_best (0), not 2",
        ),
        ({"stop": {"steps": 5}, "vocabulary": {"taken": "v", "size": 9}}, "has its own size: leave out size, or taken"),
        (
            {"stop": {"steps": 5}, "vocabulary": {"taken": "v"}, "corpus": {"kind": "prepared", "directory": "d"}},
            "vocabulary.taken: a prepared corpus has its vocabulary already",
        ),
        (["stop"], "expected a mapping"),
    ],
)
def test_what_does_not_fit_is_named(data: object, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_from(data)
    assert message in str(caught.value)


def test_a_number_in_scientific_notation_is_a_number_as_yaml_writes_it() -> None:
    assert settings_from({"stop": {"steps": 1}, "optimizer": {"epsilon": "1e-9"}}).optimizer.epsilon == 1e-9


def test_a_file_that_is_missing_or_no_yaml_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent\.yml: cannot be read"):
        read(tmp_path / "absent.yml")
    (tmp_path / "torn.yml").write_text("stop: {steps: [")
    with pytest.raises(SettingsError, match=r"torn\.yml: is not YAML"):
        read(tmp_path / "torn.yml")


def test_the_fingerprint_is_of_the_model_and_the_order_of_samples() -> None:
    settings = settings_from({"stop": {"steps": 10}})
    longer = settings_from({"stop": {"steps": 99}, "storage": "elsewhere", "batch": {"prefetch": 9}})
    other_seed = settings.model_copy(update={"seed": 2})
    slower = settings_from({"stop": {"steps": 10}, "optimizer": {"learning_rate": 1e-4}})
    assert fingerprint(settings) == fingerprint(longer) == fingerprint(slower)
    assert fingerprint(settings) != fingerprint(other_seed)


def test_horovod_options_become_its_environment() -> None:
    options = {"fusion_threshold_mb": 32, "cycle_time_ms": 2.5, "hierarchical_allreduce": True}
    horovod = settings_from({"stop": {"steps": 1}, "horovod": options}).horovod
    environment = horovod.environment()
    assert environment["HOROVOD_FUSION_THRESHOLD"] == str(32 * 1024 * 1024)
    assert environment["HOROVOD_CYCLE_TIME"] == "2.5"
    assert environment["HOROVOD_HIERARCHICAL_ALLREDUCE"] == "1"
    assert environment["HOROVOD_GLOO_TIMEOUT_SECONDS"] == "5"
    assert not {"HOROVOD_TIMELINE", "HOROVOD_AUTOTUNE"} & set(environment)
    assert horovod.bucket_mb == 32


def test_autotune_has_both_of_its_values_to_search() -> None:
    horovod = settings_from({"stop": {"steps": 1}, "horovod": {"autotune": True, "autotune_log": "~/a.csv"}}).horovod
    environment = horovod.environment()
    assert environment["HOROVOD_AUTOTUNE"] == "1"
    assert environment["HOROVOD_AUTOTUNE_LOG"] == str(Path.home() / "a.csv")
    assert not {"HOROVOD_FUSION_THRESHOLD", "HOROVOD_CYCLE_TIME"} & set(environment)
    assert horovod.bucket_mb == 0


@pytest.mark.parametrize(
    ("options", "is_elastic", "has_nccl", "reason"),
    [
        ({"hierarchical_allreduce": True}, False, False, "needs a Horovod that was built with NCCL"),
        ({"hierarchical_allreduce": True}, True, True, None),
        ({"autotune": True}, True, True, "does not survive a change of the ranks"),
        ({"autotune": True}, False, False, None),
        ({"timeline": "a.json", "compression": "fp16", "fusion_threshold_mb": 1}, True, False, None),
    ],
)
def test_options_that_would_do_nothing_or_break_are_refused(
    options: dict[str, object], is_elastic: bool, has_nccl: bool, reason: str | None
) -> None:
    refusal = settings_from({"stop": {"steps": 1}, "horovod": options}).horovod.refusal(is_elastic, has_nccl)
    assert refusal is None if reason is None else reason in (refusal or "")


@pytest.mark.parametrize("is_elastic", [True, False])
def test_ranks_ask_each_other_less_often_than_horovod_s_own_default(is_elastic: bool) -> None:
    horovod = settings_from({"stop": {"steps": 1}}).horovod
    assert horovod.environment(is_elastic)["HOROVOD_CYCLE_TIME"] == "5.0"


def test_an_elastic_training_leaves_the_fusion_threshold_to_horovod() -> None:
    horovod = settings_from({"stop": {"steps": 1}, "horovod": {"cycle_time_ms": 2.5}}).horovod
    environment = horovod.environment(is_elastic=True)
    assert "HOROVOD_FUSION_THRESHOLD" not in environment
    assert environment["HOROVOD_CYCLE_TIME"] == "2.5"
    assert environment["HOROVOD_GLOO_TIMEOUT_SECONDS"] == "5"


def test_a_key_can_be_overridden_where_the_trainer_is_started(tmp_path: Path) -> None:
    path = tmp_path / "training.yml"
    path.write_text("stop: {steps: 10}\nmodel: {layers: 4}\n")
    settings = read(path, ["model.layers=2", "optimizer.clip_norm=1.0", "seed=7"])
    assert (settings.model.layers, settings.optimizer.clip_norm, settings.seed) == (2, 1.0, 7)
    with pytest.raises(SettingsError, match=r"model\.unitz: unknown key"):
        read(path, ["model.unitz=2"])
    with pytest.raises(SettingsError, match="expected key=value"):
        read(path, ["model.layers"])


def test_the_help_has_every_key_with_its_default() -> None:
    text = help_on_settings()
    for line in ("model.layers: null", "balance.enabled: true", "stop.steps: null", "    seed: 1", "corpus.train: []"):
        assert line in text


def keys_of(kind: type[Section], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in kind.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from keys_of(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


@pytest.mark.parametrize(("key", "field"), list(keys_of(Settings)))
def test_every_key_is_explained_and_in_the_help(key: str, field: FieldInfo) -> None:
    assert field.description
    assert f"    {key}: " in help_on_settings()


def test_an_unknown_key_names_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"stop\.until: unknown key; there are epochs, patience, steps, tok"):
        settings_from({"stop": {"until": 5}})


def test_a_section_that_is_left_empty_has_its_defaults() -> None:
    assert settings_from({"stop": {"steps": 1}, "model": None}) == settings_from({"stop": {"steps": 1}})


def test_settings_are_frozen() -> None:
    settings: Any = settings_from({"stop": {"steps": 1}})
    with pytest.raises(ValueError, match="frozen"):
        settings.stop.steps = 2


def test_equal_settings_have_the_same_fingerprint_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "training.yml"
    path.write_text("stop: {steps: 10}\nvocabulary: {dropout: 0.0, size: 800}\nmodel: {label_smoothing: 1e-1}\n")
    assert fingerprint(read(path)) == fingerprint(settings_from({"stop": {"steps": 10}}))
