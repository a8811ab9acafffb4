"""Values of a resource's attributes, as a reviewer reads them."""

from __future__ import annotations

import json
from typing import Any

from controller.edges.terraform_plan import Marker
from controller.words.numbers import shortened

LONGEST_VALUE = 80
BULKY = ("user_data", "user_data_base64")
"""Attributes whose value says nothing to a reader."""


def attribute_value(path: str, leaf: Any) -> str:
    """Returns a leaf of a resource in one short line."""
    if leaf is None:
        return "nothing"
    if isinstance(leaf, Marker):
        return str(leaf)
    if path.partition(".")[0] in BULKY:
        return f"(script of {len(str(leaf)):,} characters)"
    text = leaf if isinstance(leaf, str) else json.dumps(leaf, sort_keys=True)
    return shortened(text, LONGEST_VALUE)
