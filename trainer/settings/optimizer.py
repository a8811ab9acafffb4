"""The settings of the optimizer and of its learning rate."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from trainer.settings.section import Number, Section


class OptimizerSettings(Section):
    """Adam with a learning rate that rises, and then follows a schedule.

    All of this may be changed when a training is resumed.
    """

    learning_rate: Number = Field(
        default=0.002, gt=0, description="the highest learning rate, reached after warmup_steps"
    )
    warmup_steps: int = Field(default=400, ge=0, description="steps in which the learning rate rises")
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = Field(
        default="inverse_sqrt",
        description="how the learning rate goes on after the warm-up: inverse_sqrt (with the inverse square root of "
        "the step, Vaswani et al. 2017), cosine (half a cosine, Loshchilov and Hutter 2017) or constant",
    )
    decay_steps: int | None = Field(
        default=None, ge=1, description="for cosine: the update at which it ends; null: stop.steps"
    )
    final_learning_rate: Number = Field(default=0.0, ge=0, description="for cosine: the learning rate at its end")
    beta1: Number = Field(default=0.9, ge=0, lt=1, description="Adam's decay of the mean")
    beta2: Number = Field(default=0.98, ge=0, lt=1, description="Adam's decay of the variance")
    epsilon: Number = Field(default=1e-9, gt=0, description="Adam's epsilon")
    clip_norm: Number | None = Field(
        default=None, gt=0, description="gradients (the mean over the tokens) of a larger norm are scaled down to it"
    )
    max_skipped_in_a_row: int = Field(
        default=10,
        ge=1,
        description="an update is skipped where the loss or a gradient is not a finite number; the training fails when "
        "this many updates in a row are skipped",
    )

    @model_validator(mode="after")
    def _check(self) -> OptimizerSettings:
        given = "decay_steps" if self.decay_steps else "final_learning_rate" if self.final_learning_rate else None
        if given is not None and self.schedule != "cosine":
            raise ValueError(f"{given} belongs to schedule: cosine, and schedule is {self.schedule}")
        if self.final_learning_rate > self.learning_rate:
            raise ValueError(
                f"final_learning_rate ({self.final_learning_rate:g}) is above learning_rate ({self.learning_rate:g})"
            )
        return self

    def check_end(self, last_step: int | None) -> None:
        """Raises ValueError where a cosine has no end, or ends within the warm-up.

        Args:
            last_step: The last step of the training, where it is known.
        """
        if self.schedule != "cosine":
            return
        end = self.decay_steps or last_step
        if end is None:
            raise ValueError("optimizer.schedule cosine needs an end: set optimizer.decay_steps or stop.steps")
        if end <= self.warmup_steps:
            raise ValueError(
                f"optimizer.schedule cosine ends at update {end}, within optimizer.warmup_steps ({self.warmup_steps}): "
                "set a later decay_steps or a shorter warm-up"
            )
