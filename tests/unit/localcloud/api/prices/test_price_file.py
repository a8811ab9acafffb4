"""The file of prices and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcloud.api.prices.price_file import read_prices


@pytest.mark.parametrize("price", ["cheap", "0", "-1", "true", ".inf", ".nan"])
def test_a_price_that_is_none_is_named(tmp_path: Path, price: str) -> None:
    path = tmp_path / "prices.yml"
    path.write_text(f"c5.large: {price}\n")
    with pytest.raises(ValueError, match=r"the price of c5\.large must be positive"):
        read_prices(path)


def test_the_shipped_prices_are_read() -> None:
    shipped = Path(__file__).parents[5] / "terraform" / "environments" / "local" / "prices.yml"
    assert read_prices(shipped)["c5.large"] == 0.085


@pytest.mark.parametrize(("text", "complaint"), [("- c5.large\n", "must hold one"), ("c5.large: [\n", "cannot read")])
def test_a_file_that_holds_something_else_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "prices.yml"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint) as error:
        read_prices(path)
    assert "prices.yml" in str(error.value)
