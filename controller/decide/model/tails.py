"""How far out an unlikely value lies where the spread itself is uncertain."""

from __future__ import annotations

import math
from functools import cache

from scipy.special import ndtr, stdtrit


@cache
def student_quantile(z: float, freedom: float) -> float:
    """Returns the value of a Student-t distribution that is as unlikely as `z` of the standard normal one.

    Args:
        z: Standard deviations of the normal distribution.
        freedom: Degrees of freedom; infinite: the distribution is the normal one.
    """
    return z if math.isinf(freedom) else float(stdtrit(freedom, ndtr(z)))


def student_score(z: float, freedom: float) -> float:
    """Returns the same in units of the value at z = 1: it leaves -1, 0 and 1 as they are, and stretches the tails."""
    return student_quantile(z, freedom) / student_quantile(1.0, freedom)


def student_deviation(freedom: float) -> float:
    """Returns the standard deviation in the same units. There have to be more than two degrees of freedom."""
    return 1.0 if math.isinf(freedom) else math.sqrt(freedom / (freedom - 2)) / student_quantile(1.0, freedom)
