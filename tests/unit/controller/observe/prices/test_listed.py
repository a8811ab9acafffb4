"""Prices from a file: read, or an error that names the flavor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain import Price
from controller.domain.errors import ConfigError
from controller.observe.prices.listed import read_prices, require_prices
from tests.unit.controller.harness import SETTINGS


def environment(tmp_path: Path, **prices: Any) -> Environment:
    return Environment("test", tmp_path, parse_settings({**SETTINGS, "prices": prices}, str(tmp_path / "centavo.yml")))


def prices(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "prices.yml"
    file.write_text(text)
    return file


def test_one_flavor_a_line_in_dollars_per_hour(tmp_path: Path) -> None:
    found = read_prices(prices(tmp_path, "t2.medium: 0.0464\nc5.large: 0.085 # a note\n"))
    assert {flavor: price.usd_per_hour for flavor, price in found.items()} == {"t2.medium": 0.0464, "c5.large": 0.085}
    at = (tmp_path / "prices.yml").stat().st_mtime
    assert found["c5.large"] == Price("c5.large", 0.085, "file prices.yml", at)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no prices"),
        ("- a\n- b\n", "holds no prices"),
        ("c5.large: free\n", "price of c5.large is 'free'"),
        ("c5.large: 0\n", "price of c5.large is 0"),
        ("c5.large: -1\n", "price of c5.large is -1"),
        ("c5.large: .nan\n", "price of c5.large is nan"),
        ("c5.large: true\n", "price of c5.large is True"),
        ("c5.large: [1\n", "not valid YAML"),
    ],
)
def test_a_price_that_can_not_be_used_is_named(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        read_prices(prices(tmp_path, text))
    assert "prices.yml" in error.value.what


def test_a_flavor_without_a_price_is_an_error_that_names_it(tmp_path: Path) -> None:
    found = read_prices(prices(tmp_path, "t2.medium: 0.0464\n"))
    with pytest.raises(ConfigError, match=r"prices.yml has no price for c5.large, m5.large") as error:
        require_prices(found, ["t2.medium", "m5.large", "c5.large"], environment(tmp_path))
    assert "c5.large: 0.0464" in error.value.next_step and "prices.yml" in error.value.next_step


def test_where_aws_has_no_price_it_can_be_added_by_hand(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"AWS has no price for c5.large") as error:
        require_prices({}, ["c5.large"], environment(tmp_path, source="aws"))
    assert "a file that prices.override names" in error.value.next_step


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        read_prices(tmp_path / "prices.yml")
