"""The settings of Horovod: what it is told, and what the trainer makes of them."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field, model_validator

from trainer.settings.section import Number, Section

DEFAULT_BUCKET_MB = 64
DEFAULT_CYCLE_MS = 5.0
"""Horovod's own is 1. Where two ranks had two cores, a step of 0.6 s took 0.7 s with it: each question costs processor
time, and gloo's thread does not sleep while an answer lies there that nobody reads yet."""
LogLevel = Literal["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"]


class HorovodSettings(Section):
    """Horovod's own options."""

    fusion_threshold_mb: int | None = Field(
        default=None, ge=1, description="tensor fusion: gradients travel in buckets of this many MiB; null: 64"
    )
    cycle_time_ms: Number | None = Field(
        default=None,
        gt=0,
        description="how often ranks ask each other what is ready; null: every 5 ms. Each question takes time from the "
        "training",
    )
    autotune: bool = Field(
        default=False,
        description="let Horovod search both values in the first hundreds of steps; under horovodrun only, not in an "
        "elastic training",
    )
    autotune_log: str | None = Field(default=None, description="a file on rank 0's node for what autotune has tried")
    timeline: str | None = Field(
        default=None,
        description="a trace file on rank 0's node for chrome://tracing; each world of an elastic training begins it "
        "anew",
    )
    compression: Literal["none", "fp16"] = Field(default="none", description="fp16: gradients travel as float16")
    hierarchical_allreduce: bool = Field(
        default=False, description="exchange within a node first, then between nodes; needs a Horovod with NCCL"
    )
    gloo_timeout_s: int = Field(default=5, ge=1, description="seconds to wait for a rank that has become silent")
    vote_timeout_s: Number = Field(
        default=30,
        gt=0,
        description="seconds that a rank may take to come to the next world after others are ready for it; then it is "
        "dropped (three steps, where these take longer)",
    )
    stuck_timeout_s: Number = Field(
        default=1800,
        gt=0,
        description="seconds without a step of any rank after which the launcher begins again from the last "
        "checkpoint; a validation counts as a part of a step, and scoring the model at the end as one step",
    )
    log_level: LogLevel = Field(default="ERROR", description="of Horovod's own log")

    @model_validator(mode="after")
    def _check(self) -> HorovodSettings:
        fixed = [name for name in ("fusion_threshold_mb", "cycle_time_ms") if getattr(self, name) is not None]
        if self.autotune and fixed:
            raise ValueError(f"autotune searches {' and '.join(fixed)}: leave out one or the other")
        if self.autotune_log is not None and not self.autotune:
            raise ValueError("autotune_log needs autotune: true")
        return self

    @property
    def bucket_mb(self) -> int:
        """The size in MiB of the buckets in which the trainer puts gradients together; 0: Horovod does it.

        Buckets that are made here need one negotiation a step, and are the same on all ranks whatever Horovod's own
        threshold is. With autotune, Horovod makes them.
        """
        return 0 if self.autotune else self.fusion_threshold_mb or DEFAULT_BUCKET_MB

    def refusal(self, is_elastic: bool, has_nccl: bool) -> str | None:
        """Returns why these options cannot be used here, or None where they can.

        Args:
            is_elastic: Whether the training is elastic.
            has_nccl: Whether this Horovod was built with NCCL.
        """
        if self.hierarchical_allreduce and not has_nccl:
            return (
                "horovod.hierarchical_allreduce needs a Horovod that was built with NCCL, for GPUs; the one here "
                "exchanges over gloo, which cannot do it: leave it false"
            )
        if self.autotune and is_elastic:
            # The value that rank 0 has found becomes fixed on the other ranks (ParameterManager::SetParams). Their next
            # hvd.init() takes it for one that may change, and writes beyond an empty vector.
            return (
                "horovod.autotune does not survive a change of the ranks (Horovod 0.28.1): search once with "
                "`horovodrun -np N python -m trainer train`, and set the fusion_threshold_mb and cycle_time_ms that "
                "its autotune_log ends with"
            )
        return None

    def environment(self, is_elastic: bool = False) -> dict[str, str]:
        """Returns the settings as the environment variables that Horovod reads when a rank begins.

        In an elastic training Horovod's own fusion threshold stays at its default. Together with a cycle time, which is
        worth more there, it would end a second `hvd.init()` in a segmentation fault (see `trainer.elastic.world`). The
        trainer's own buckets keep `fusion_threshold_mb` all the same.
        """
        threshold = self.fusion_threshold_mb
        optional = {
            "HOROVOD_FUSION_THRESHOLD": None if is_elastic or threshold is None else threshold * 1024 * 1024,
            "HOROVOD_CYCLE_TIME": None if self.autotune else self.cycle_time_ms or DEFAULT_CYCLE_MS,
            "HOROVOD_AUTOTUNE": "1" if self.autotune else None,
            "HOROVOD_AUTOTUNE_LOG": self.autotune_log and os.path.expanduser(self.autotune_log),
            "HOROVOD_TIMELINE": self.timeline and os.path.expanduser(self.timeline),
            "HOROVOD_HIERARCHICAL_ALLREDUCE": "1" if self.hierarchical_allreduce else None,
            "HOROVOD_GLOO_TIMEOUT_SECONDS": self.gloo_timeout_s,
            "HOROVOD_LOG_LEVEL": self.log_level,
        }
        return {name: str(value) for name, value in optional.items() if value is not None}
