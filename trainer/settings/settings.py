"""training.yml as frozen, checked dataclasses: sections have defaults, and an unknown key is an error that names it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from trainer.data.corpus import CorpusSettings
from trainer.data.vocabulary import VocabularySettings
from trainer.model.transformer import FORMAT, ModelSettings
from trainer.settings.strict import SettingsError, build

__all__ = ["Settings", "SettingsError", "fingerprint", "read", "settings_from"]


DEFAULT_BUCKET_MB = 64


def _require(condition: bool, message: str) -> None:
    """ValueError, to which the name of the section is added, unless `condition`."""
    if not condition:
        raise ValueError(message)


@dataclass(frozen=True)
class BatchSettings:
    """The global batch: what all ranks together compute in one step, whatever their number.

    `tokens` bounds its tokens on either side, padding included (`vocabulary.dropout` makes more of them), and
    `max_sentences` its sentences. `max_tokens` is the longest sentence in ids; longer ones are counted and left
    out. `accumulate` global batches make one update. `prefetch` batches are made ahead, in a thread. Sentences
    whose lengths round up to the same multiple of `length_multiple` come together, in arrays of such lengths: 1 pads
    least, more mixes more. On Multi30k 8, 4, 2 and 1 pad 25, 17, 12 and 8%, and 2 takes 15% less processor time per
    token than 8.
    """

    tokens: int = 4096
    max_tokens: int = 200
    accumulate: int = 1
    prefetch: int = 4
    max_sentences: int | None = None
    length_multiple: int = 2

    def __post_init__(self) -> None:
        _require(self.tokens >= 1, f"tokens must be 1 or more, not {self.tokens}")
        _require(self.max_tokens >= 3, f"max_tokens must be 3 or more, not {self.max_tokens}")
        _require(self.accumulate >= 1, f"accumulate must be 1 or more, not {self.accumulate}")
        _require(self.prefetch >= 1, f"prefetch must be 1 or more, not {self.prefetch}")
        _require(self.length_multiple >= 1, f"length_multiple must be 1 or more, not {self.length_multiple}")


@dataclass(frozen=True)
class OptimizerSettings:
    """Adam with the inverse-square-root schedule; `learning_rate` is its peak, reached after `warmup_steps`.

    `beta1`, `beta2` and `epsilon` are those of Adam. Gradients (the mean over the tokens) of a norm above
    `clip_norm` are scaled down to it. All of this may be changed when a training is resumed.
    """

    learning_rate: float = 0.002
    warmup_steps: int = 400
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        _require(self.learning_rate > 0, f"learning_rate must be positive, not {self.learning_rate}")
        _require(self.warmup_steps >= 0, f"warmup_steps must be 0 or more, not {self.warmup_steps}")
        _require(0 <= self.beta1 < 1 and 0 <= self.beta2 < 1, "beta1 and beta2 must be from 0 to below 1")
        _require(self.epsilon > 0, f"epsilon must be positive, not {self.epsilon}")
        _require(self.clip_norm is None or self.clip_norm > 0, f"clip_norm must be positive, not {self.clip_norm}")


@dataclass(frozen=True)
class StopSettings:
    """When the training ends: after `steps`, `tokens` (target tokens) or `epochs`, whichever comes first.

    A step is taken whole: the last one may reach beyond the tokens, and into the next epoch with batch.accumulate.

    With `patience` it also ends when the validation loss has not improved for that many validations, which are made
    every `validate_every_steps` (0: never) and go into train.log.
    """

    steps: int | None = None
    tokens: int | None = None
    epochs: int | None = None
    patience: int | None = None
    validate_every_steps: int = 0

    def __post_init__(self) -> None:
        given = [value for value in (self.steps, self.tokens, self.epochs) if value is not None]
        _require(bool(given), "say when to stop: steps, tokens or epochs")
        _require(min(given) >= 1, "steps, tokens and epochs must be 1 or more")
        _require(self.validate_every_steps >= 0, "validate_every_steps must be 0 or more")
        _require(
            self.patience is None or (self.patience >= 1 and self.validate_every_steps >= 1),
            "patience must be 1 or more and needs validate_every_steps",
        )


@dataclass(frozen=True)
class HorovodSettings:
    """Horovod's own options; null leaves its default.

    `fusion_threshold_mb`: tensor fusion, the gradients travel in buckets of this size (MiB; 64 by default).
    `cycle_time_ms`: how often ranks ask each other what is ready; every millisecond by default, which costs a tenth
    of a core where ranks share a machine. `autotune`: let Horovod search both during the first steps (some hundreds),
    and write what it tries to the file `autotune_log` on rank 0's node; under horovodrun only, not in an elastic
    training. `timeline`: a trace file on rank 0's node, for chrome://tracing; each world of an elastic training
    begins it anew. `compression`: fp16 exchanges gradients as float16. `hierarchical_allreduce`: first within a
    node, then between nodes; needs a Horovod with NCCL. `gloo_timeout_s`: seconds to wait for a rank that has gone
    silent. `log_level`: of Horovod's own log: TRACE, DEBUG, INFO, WARNING, ERROR or FATAL.
    """

    fusion_threshold_mb: int | None = None
    cycle_time_ms: float | None = None
    autotune: bool = False
    autotune_log: str | None = None
    timeline: str | None = None
    compression: Literal["none", "fp16"] = "none"
    hierarchical_allreduce: bool = False
    gloo_timeout_s: int = 5
    log_level: Literal["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"] = "ERROR"

    def __post_init__(self) -> None:
        fixed = [name for name in ("fusion_threshold_mb", "cycle_time_ms") if getattr(self, name) is not None]
        _require(not (self.autotune and fixed), f"autotune searches {' and '.join(fixed)}: leave out one or the other")
        _require(self.autotune or self.autotune_log is None, "autotune_log needs autotune: true")
        _require(self.fusion_threshold_mb is None or self.fusion_threshold_mb >= 1, "fusion_threshold_mb: 1 or more")
        _require(self.cycle_time_ms is None or self.cycle_time_ms > 0, "cycle_time_ms must be positive")
        _require(self.gloo_timeout_s >= 1, "gloo_timeout_s must be 1 or more")

    @property
    def bucket_mb(self) -> int:
        """How much of the gradients the trainer puts together itself, in MiB; 0 leaves it to Horovod, and its autotune.

        Buckets made here need one negotiation a step, and are the same on all ranks whatever Horovod's threshold is.
        """
        return 0 if self.autotune else self.fusion_threshold_mb or DEFAULT_BUCKET_MB

    def refusal(self, is_elastic: bool, has_nccl: bool) -> str | None:
        """Why these options cannot be had here, None when they can; `has_nccl`: what this Horovod was built with."""
        if self.hierarchical_allreduce and not has_nccl:
            return (
                "horovod.hierarchical_allreduce needs a Horovod that was built with NCCL, for GPUs; the one here "
                "exchanges over gloo, which has no such thing: leave it false"
            )
        if self.autotune and is_elastic:
            # What rank 0 has found becomes a fixed value on the others (ParameterManager::SetParams), which the next
            # hvd.init() of theirs takes for a free one and writes beyond an empty vector.
            return (
                "horovod.autotune does not survive a change of the ranks (Horovod 0.28.1): search once with "
                "`horovodrun -np N python -m trainer train`, and set the fusion_threshold_mb and cycle_time_ms that "
                "its autotune_log ends with"
            )
        return None

    def environment(self, is_elastic: bool = False) -> dict[str, str]:
        """The settings as the environment variables that Horovod reads when a rank begins.

        In an elastic training Horovod's own fusion threshold stays at its default: together with a cycle time, which is
        worth more there, it makes a second `hvd.init()` end in a segmentation fault (see `trainer.elastic.world`). The
        trainer's own buckets keep `fusion_threshold_mb` all the same.
        """
        threshold = self.fusion_threshold_mb
        optional = {
            "HOROVOD_FUSION_THRESHOLD": None if is_elastic or threshold is None else threshold * 1024 * 1024,
            "HOROVOD_CYCLE_TIME": self.cycle_time_ms,
            "HOROVOD_AUTOTUNE": "1" if self.autotune else None,
            "HOROVOD_AUTOTUNE_LOG": self.autotune_log and os.path.expanduser(self.autotune_log),
            "HOROVOD_TIMELINE": self.timeline and os.path.expanduser(self.timeline),
            "HOROVOD_HIERARCHICAL_ALLREDUCE": "1" if self.hierarchical_allreduce else None,
            "HOROVOD_GLOO_TIMEOUT_SECONDS": self.gloo_timeout_s,
            "HOROVOD_LOG_LEVEL": self.log_level,
        }
        return {name: str(value) for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class ElasticSettings:
    """`commit_every_steps`: how many steps a rank that is lost without notice can cost at most."""

    commit_every_steps: int = 10

    def __post_init__(self) -> None:
        _require(self.commit_every_steps >= 1, "commit_every_steps must be 1 or more")


@dataclass(frozen=True)
class BalanceSettings:
    """Shares of the global batch in proportion to measured compute speed.

    Where `enabled`, they move towards the speeds every `every_steps`, at most by the share `max_change` (0 to 1)
    of themselves. Otherwise all ranks have the same.
    """

    enabled: bool = True
    every_steps: int = 5
    max_change: float = 0.3

    def __post_init__(self) -> None:
        _require(self.every_steps >= 1, "every_steps must be 1 or more")
        _require(0 < self.max_change < 1, f"max_change must be between 0 and 1, not {self.max_change}")


@dataclass(frozen=True)
class CheckpointSettings:
    """Every `every_steps` or `every_minutes` (null: not by that); the last `keep` stay.

    `average` of the last checkpoints make the final model (1: the last parameters as they are).
    """

    every_steps: int | None = 200
    every_minutes: float | None = None
    keep: int = 3
    average: int = 1

    def __post_init__(self) -> None:
        _require(self.every_steps is None or self.every_steps >= 1, "every_steps must be 1 or more")
        _require(self.every_minutes is None or self.every_minutes > 0, "every_minutes must be positive")
        _require(self.keep >= 1, "keep must be 1 or more")
        _require(1 <= self.average <= self.keep, f"average must be from 1 to keep ({self.keep}), not {self.average}")
        is_regular = self.every_steps is not None or self.every_minutes is not None
        _require(self.average == 1 or is_regular, "average needs checkpoints: set every_steps or every_minutes")


@dataclass(frozen=True)
class FactSettings:
    """The iteration facts, which each rank writes about itself, go to the folder `path`.

    Their times are medians over the last `window` steps; the first `warmup_steps` of every world are left out.
    """

    path: str = "~/facts.d"
    window: int = 50
    warmup_steps: int = 3

    def __post_init__(self) -> None:
        _require(self.window >= 1 and self.warmup_steps >= 0, "window must be 1 or more, warmup_steps 0 or more")


@dataclass(frozen=True)
class TranslateSettings:
    """Beam search over the test split after the last step, and sacreBLEU.

    `beam_size` hypotheses; `alpha` and `k` of the length penalty ((k + length) / (k + 1)) ** alpha (0: none;
    alpha 1 and k 0: the length itself, as in fairseq); `max_length` bounds a translation in pieces; `batch_size`
    sentences at a time; of `test_sentences` the first ones only. `tokenize`: how sacreBLEU cuts words (none for
    tokenised text); `lowercase`: whether it ignores case.
    """

    beam_size: int = 4
    alpha: float = 0.6
    k: float = 5.0
    max_length: int = 200
    batch_size: int = 64
    test_sentences: int | None = None
    tokenize: Literal["13a", "none", "intl", "char"] = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        sizes = (self.beam_size, self.max_length, self.batch_size)
        _require(min(sizes) >= 1, "beam_size, max_length and batch_size must be 1 or more")
        _require(self.alpha >= 0 and self.k >= 0, f"alpha and k must be 0 or more, not {self.alpha} and {self.k}")
        _require(self.test_sentences is None or self.test_sentences >= 1, "test_sentences must be 1 or more")


@dataclass(frozen=True)
class Settings:
    """One training. `storage` (a directory that all ranks see, or s3://bucket/prefix) holds checkpoints and results.

    `seed`: of the order of samples, and of dropout. `cache`: where learned vocabularies are kept.
    `tensorboard`: a directory on rank 0's node for TensorBoard event files, which then go with the results too; null:
    none are written.
    """

    stop: StopSettings
    seed: int = 1
    storage: str = "training"
    cache: str = "~/.cache/centavo"
    tensorboard: str | None = None
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    vocabulary: VocabularySettings = field(default_factory=VocabularySettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    batch: BatchSettings = field(default_factory=BatchSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    horovod: HorovodSettings = field(default_factory=HorovodSettings)
    elastic: ElasticSettings = field(default_factory=ElasticSettings)
    balance: BalanceSettings = field(default_factory=BalanceSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    facts: FactSettings = field(default_factory=FactSettings)
    translate: TranslateSettings = field(default_factory=TranslateSettings)

    def __post_init__(self) -> None:
        limit = self.model.max_length
        _require(
            self.batch.max_tokens <= limit,
            f"batch.max_tokens ({self.batch.max_tokens}) is above model.max_length ({limit}): raise or lower one",
        )


def read(path: Path, overrides: Sequence[str] = ()) -> Settings:
    """Read training.yml; `overrides` ("model.layers=2") take the place of what it says.

    Raises SettingsError, which names the file and the key, for whatever cannot be used.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        for override in overrides:
            data = _overridden(data, override)
        return settings_from(data)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not YAML: {error}") from error
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _overridden(data: Any, override: str) -> Any:
    name, equals, value = override.partition("=")
    if not equals:
        raise SettingsError(f"{override}: expected key=value, such as model.layers=2")
    data = {} if data is None else data
    section = data
    *path, key = name.split(".")
    for part in path:
        section = section.setdefault(part, {})
    section[key] = yaml.safe_load(value)
    return data


def settings_from(data: object) -> Settings:
    """Settings from plain mappings. Raises SettingsError."""
    settings = build(Settings, data)
    try:
        settings.model.architecture()
    except ValueError as error:
        raise SettingsError(f"model: {error}") from error
    return settings


def fingerprint(settings: Settings) -> str:
    """What has to be equal for a checkpoint to be continued: the model, its format, and which samples have been seen.

    The optimizer's settings may change on the way: a loss that became NaN is gone on from with a lower learning rate.
    """
    shaping = {
        name: value
        for name, value in asdict(settings).items()
        if name in ("seed", "corpus", "vocabulary", "model", "batch")
    }
    shaping["batch"].pop("prefetch")
    shaping["model"]["format"] = FORMAT
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
