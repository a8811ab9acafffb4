"""Positions are encoded as the paper says, and the model has that encoding."""

from __future__ import annotations

import math

import numpy as np

from trainer.model import build as model
from trainer.model.positions import PADDING, sinusoids
from trainer.settings.model import ModelSettings


def test_each_pair_of_units_is_the_sine_and_the_cosine_of_one_angle() -> None:
    table = sinusoids(100, 8)
    assert table.shape == (100, 8)
    for position in (0, 1, 37, 99):
        for pair in range(4):
            angle = position / 10000 ** (2 * pair / 8)
            expected = (math.sin(angle), math.cos(angle))
            np.testing.assert_allclose(table[position, 2 * pair : 2 * pair + 2], expected, atol=1e-6)


def test_a_shift_is_the_same_rotation_wherever_it_begins() -> None:
    table = sinusoids(60, 64).astype(np.float64)
    products = table @ table.T  # attention from one position to another sees no more than how far apart they are
    for distance in (1, 5, 20):
        np.testing.assert_allclose(np.diagonal(products, distance), products[0, distance], rtol=1e-5)


def test_encoder_and_decoder_have_it() -> None:
    settings = ModelSettings(layers=1, units=24, hidden=40, heads=3, max_length=40)
    network = model.build(settings, 50).network
    for block in (network.encoder, network.decoder):
        np.testing.assert_array_equal(block.position_weight.data().asnumpy(), sinusoids(40 + PADDING, 24))
