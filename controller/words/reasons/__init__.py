"""Every reason in words."""

from controller.words.reasons import deciding, ending, flavors, health, limits, moving, nodes, plans, spot, writing
from controller.words.reasons.dispatch import reason_in_words

FAMILIES = (deciding, ending, flavors, health, limits, moving, nodes, plans, spot, writing)
"""The modules with the wording. They register it when they are imported, which is why this module imports them all."""

__all__ = ["FAMILIES", "reason_in_words"]
