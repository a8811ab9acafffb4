"""Every reason in words. Importing this module registers the wording of each family."""

from controller.words import ending, moving, nodes, plans
from controller.words.dispatch import reason_in_words

__all__ = ["ending", "moving", "nodes", "plans", "reason_in_words"]
