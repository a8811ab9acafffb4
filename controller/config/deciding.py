"""The settings under `controller.decide` of centavo.yml: how cautiously the policy decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator
from pydantic_core import PydanticCustomError

from controller.domain.batches import Batches
from controller.domain.objective import Objective

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Margin = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A share of 1 that may be above 1."""
Share = Annotated[float, Field(ge=0, le=1)]
Confidence = Annotated[float, Field(ge=0.5, lt=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000_000, strict=True)]
PositiveCount = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class _Options(BaseModel):
    """Options that may all be left out. An unknown key is an error that lists the known ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, given: Any) -> Any:
        unknown = sorted(str(key) for key in given if key not in cls.model_fields) if isinstance(given, Mapping) else []
        if unknown:
            raise PydanticCustomError(
                "unknown_keys",
                "unknown keys: {unknown}; the known keys are {known}",
                {"unknown": ", ".join(unknown), "known": ", ".join(sorted(cls.model_fields))},
            )
        return given

    def given(self) -> dict[str, Any]:
        """Returns the options that the file gives, by name. The defaults of the others are those of the policy."""
        return self.model_dump(exclude_none=True)


class SwitchingOptions(_Options):
    """What a move is expected to take, in seconds, until it was measured."""

    boot_s: Seconds | None = None
    configure_s: Seconds | None = None
    pause_s: Seconds | None = None
    drain_s: Seconds | None = None
    terraform_s: Seconds | None = None


class DecideOptions(_Options):
    """How to decide. `controller.decide.settings.DecideSettings` explains each option and has its default."""

    objective: Objective | None = None
    batches: Batches | None = None
    minimum_window: PositiveCount | None = None
    """Without it, `controller.minimum_window` holds."""
    minimum_steps: PositiveCount | None = None
    saving_margin: Margin | None = None
    switching_margin: Margin | None = None
    mixed_margin: Margin | None = None
    count_communication: StrictBool | None = None
    confidence_z: Margin | None = None
    cooldown_s: Seconds | None = None
    """Without it, `controller.cooldown_s` holds."""
    end_guard_share: Share | None = None
    end_guard_s: Seconds | None = None
    confidence: Confidence | None = None
    switching: SwitchingOptions | None = None
    probe_share: Share | None = None
    probe_steps: PositiveCount | None = None
    hints_tokens_per_s: Mapping[str, Positive] | None = None
    measure_timeout_s: Seconds | None = None
    detailed: StrictBool | None = None
    runners_up: Count | None = None
    max_usd_per_node_hour: Positive | None = None
    reserved_memory_mib: Count | None = None
    clock_skew_s: Seconds | None = None
