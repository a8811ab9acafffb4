"""Prices that a person lists in a YAML file, one flavor a line: `t2.medium: 0.0464` (US dollars an hour)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.config.load import read_yaml
from controller.config.settings import PriceSource
from controller.domain import Price
from controller.domain.errors import ConfigError


def read_prices(file: Path) -> dict[str, Price]:
    """Returns the prices in the file, by flavor. Raises ConfigError naming the file and the wrong flavor."""
    document = read_yaml(file)
    if not isinstance(document, dict) or not document:
        raise ConfigError(f"{file} holds no prices.", "Write one flavor per line, such as `c5.large: 0.085`.")
    at = file.stat().st_mtime
    return {
        str(flavor): Price(str(flavor), _usd_per_hour(file, flavor, value), f"file {file.name}", at)
        for flavor, value in document.items()
    }


def require_prices(prices: Mapping[str, Price], flavors: Iterable[str], environment: Environment) -> None:
    """Raises ConfigError naming every flavor that has no price."""
    missing = sorted({flavor for flavor in flavors if flavor not in prices})
    if missing:
        raise no_price(missing, environment)


def no_price(flavors: Sequence[str], environment: Environment) -> ConfigError:
    """Returns the error that these flavors have no price, which says where to add one."""
    is_file = environment.settings.prices.source is PriceSource.FILE
    place = environment.prices_file if is_file else environment.negotiated_prices_file
    return ConfigError(
        f"{environment.prices_file if is_file else 'AWS'} has no price for {', '.join(flavors)}.",
        f"Add a line such as `{flavors[0]}: 0.0464` (US dollars an hour) to "
        f"{place or 'a file that prices.override names'}, or take the flavor out of the fleet.",
    )


def _usd_per_hour(file: Path, flavor: Any, value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise ConfigError(
            f"{file}: the price of {flavor} is {value!r}.", "A price is a number of US dollars an hour above zero."
        )
    return float(value)
