"""The file with the prices of on-demand instances: one line for each flavor, such as `c5.large: 0.085`.

Prices are US dollars per hour, for Linux.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter, ValidationError

Price = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]

_PRICES = TypeAdapter(dict[str, Price])


def read_prices(path: Path | None) -> dict[str, float]:
    """Returns US dollars per hour by flavor.

    Args:
        path: the file; None means that no flavor has a price.

    Raises:
        ValueError: the file cannot be read, or an entry is not a price; the message names the flavor.
    """
    if path is None:
        return {}
    try:
        document = yaml.safe_load(path.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"cannot read the prices in {path}: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path} must hold one `flavor: price` per line")
    try:
        return _PRICES.validate_python({str(flavor): price for flavor, price in document.items()})
    except ValidationError as error:
        first = error.errors()[0]
        flavor, price = first["loc"][0], first["input"]
        raise ValueError(f"{path}: the price of {flavor} must be positive dollars per hour, not {price!r}") from None
