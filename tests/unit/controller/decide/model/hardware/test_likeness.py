"""How alike instance types are, by their names."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from controller.decide.model.hardware.likeness import GENERATIONS, Processor, family, likeness, processor
from controller.decide.model.hardware.prior import correlation

NAMES = (
    "c4.large",
    "c5.large",
    "c5.9xlarge",
    "c5a.large",
    "c6g.large",
    "c7i.large",
    "m5.large",
    "t3a.large",
    "odd.one",
)


@pytest.mark.parametrize(
    ("flavor", "known"),
    [
        ("c5.large", Processor("c", 5, "intel")),
        ("c5n.large", Processor("c", 5, "intel")),
        ("t3a.large", Processor("t", 3, "a")),
        ("m6gd.large", Processor("m", 6, "g")),
        ("c7i-flex.large", Processor("c", 7, "intel")),
        ("u-6tb1.56xlarge", None),
        ("odd", None),
    ],
)
def test_a_name_tells_class_generation_and_maker(flavor: str, known: Processor | None) -> None:
    assert processor(flavor) == known


def test_the_family_is_what_stands_before_the_first_dot() -> None:
    assert [family(name) for name in ("c5.xlarge", "c5", "u-6tb1.56xlarge.more")] == ["c5", "c5", "u-6tb1"]


def test_one_family_is_alike_and_others_less_the_more_they_differ() -> None:
    assert likeness("c5.large", "c5.9xlarge") == likeness("c5.large", "c5n.large") == 1.0
    ordered = [likeness("c5.large", other) for other in ("c6i.large", "c7i.large", "m7i.large", "m7a.large")]
    assert 1.0 > ordered[0] > ordered[1] > ordered[2] > ordered[3] > 0.0
    assert ordered[:2] == pytest.approx([math.exp(-1 / GENERATIONS), math.exp(-2 / GENERATIONS)])


def test_names_that_tell_nothing_are_alike_in_one_family_only() -> None:
    assert (likeness("odd.one", "odd.two"), likeness("odd.one", "c5.large"), likeness("odd.one", "even.one")) == (
        1,
        0,
        0,
    )


def test_every_covariance_of_flavors_is_positive_definite() -> None:
    matrix = np.array([[correlation(one, other) for other in NAMES] for one in NAMES])
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert all(correlation(a, b) == correlation(b, a) for a, b in itertools.product(NAMES, NAMES))
