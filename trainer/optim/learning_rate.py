"""The learning rate: linear warm-up, then the inverse square root of the step (Vaswani et al. 2017, section 5.3)."""

from __future__ import annotations

import math


def learning_rate(step: int, peak: float, warmup_steps: int) -> float:
    """Returns the rate of update number `step`: it rises linearly to `peak` at `warmup_steps`, then falls.

    This is the paper's `d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)` in terms of its highest value, so that it
    does not depend on the size of the model.

    Raises:
        ValueError: The step is below 1.
    """
    if step < 1:
        raise ValueError(f"updates are counted from 1, there is no update {step}")
    warmup = max(1, warmup_steps)
    return peak * min(step / warmup, math.sqrt(warmup / step))
