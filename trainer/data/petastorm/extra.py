"""The packages for Spark and Petastorm, which a plain set-up does not install."""

from __future__ import annotations

from importlib.util import find_spec

PACKAGES = ("pyspark", "petastorm", "pyarrow", "pandas")


class ExtraMissingError(ValueError):
    """Something needs packages that are not installed. The message says how to install them."""


def require_extra(what: str) -> None:
    """Raises ExtraMissingError where a package for Spark and Petastorm is missing.

    Args:
        what: What needs the packages, for the message.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise ExtraMissingError(
            f"{what} needs packages that are not installed ({', '.join(missing)}). Install them: make setup SPARK=1"
        )
