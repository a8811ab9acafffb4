"""The learning rate: linear warm-up, then one of three schedules.

- `inverse_sqrt`: the inverse square root of the step (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section
  5.3).
- `cosine`: half a cosine down to the final rate (Loshchilov and Hutter 2017, https://arxiv.org/abs/1608.03983, equation
  5, without restarts).
- `constant`: the highest rate (as for fine-tuning).
"""

from __future__ import annotations

import math

from trainer.settings.optimizer import OptimizerSettings


def learning_rate(step: int, settings: OptimizerSettings, last_step: int | None = None) -> float:
    """Returns the rate of update number `step`: it rises linearly to its peak at `warmup_steps`, then it is scheduled.

    The inverse square root is the paper's `d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)` in terms of its
    highest value, so that it does not depend on the size of the model.

    Args:
        step: Updates are counted from 1.
        settings: The schedule.
        last_step: The update at which a cosine reaches the final rate, where the settings do not say it.

    Raises:
        ValueError: The step is below 1.
    """
    if step < 1:
        raise ValueError(f"updates are counted from 1, there is no update {step}")
    peak, warmup = settings.learning_rate, max(1, settings.warmup_steps)
    if settings.schedule == "inverse_sqrt":
        return peak * min(step / warmup, math.sqrt(warmup / step))
    if step <= warmup or settings.schedule == "constant":
        return peak * min(step / warmup, 1.0)
    end = settings.decay_steps or last_step
    assert end is not None, "the settings refuse a cosine without an end"
    passed = min(1.0, (step - warmup) / (end - warmup))
    return settings.final_learning_rate + (peak - settings.final_learning_rate) * (1 + math.cos(math.pi * passed)) / 2
