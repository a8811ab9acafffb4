"""How alike two instance types are, by what their names tell: class, generation and maker of the processor.

The names follow EC2's convention (EC2 User Guide, "Instance type naming conventions"): class, generation, options, dot,
size. Of the options, `a` is a processor by AMD, `g` one by AWS; without either it is by Intel. The other options (`n`,
`d`, `b`, ...) are about network and disks, so that a processor computes as fast with them as without.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

NAME = re.compile(r"([a-z]+?)(\d+)([a-z-]*)")
OTHER_CLASS = 0.7
OTHER_MAKER = 0.4
GENERATIONS = 2.0
"""After so many generations the likeness has fallen to 1/e."""


@dataclass(frozen=True)
class Processor:
    """What a family's name tells about its processor.

    Attributes:
        kind: `c`, `m`, `r`, `t`, ...
        generation: Higher is newer.
        maker: `a`, `g` or `intel`.
    """

    kind: str
    generation: int
    maker: str


def family(flavor: str) -> str:
    """Returns the part of an instance type before the dot: `c5` of `c5.xlarge`."""
    return flavor.partition(".")[0]


@lru_cache(maxsize=1 << 12)
def processor(flavor: str) -> Processor | None:
    """Returns what an instance type's name tells about its processor; None where it does not follow the convention.

    A decision asks for it for each pair of flavors again.
    """
    parts = NAME.fullmatch(family(flavor))
    if parts is None:
        return None
    kind, generation, options = parts.groups()
    return Processor(kind, int(generation), next((option for option in options if option in "ag"), "intel"))


def likeness(one: str, other: str) -> float:
    """Returns how alike two instance types compute, 0 to 1; 1 in one family, and 0 where a name does not tell.

    It is a product of kernels that are positive semidefinite each (Rasmussen and Williams, "Gaussian Processes for
    Machine Learning", 2006, section 4.2.4), so that it is one itself.
    """
    if family(one) == family(other):
        return 1.0
    first, second = processor(one), processor(other)
    if first is None or second is None:
        return 0.0
    apart = abs(first.generation - second.generation)
    alike = math.exp(-apart / GENERATIONS)
    alike *= 1.0 if first.kind == second.kind else OTHER_CLASS
    return alike * (1.0 if first.maker == second.maker else OTHER_MAKER)
