"""What becomes of a resource, in words."""

from __future__ import annotations

from controller.edges.terraform_plan import Action, AttributeChange, PlanChange
from controller.review.attribute_values import attribute_value
from controller.review.markdown_text import code, plain

MARKS = {
    Action.DESTROY: "🛑\u00a0**destroy**",
    Action.REPLACE: "🛑\u00a0**replace**",
    Action.FORGET: "⚠️ forget (it stays, unmanaged)",
    Action.UPDATE: "change",
    Action.CREATE: "add",
    Action.NONE: "move in the state",
}
NOUNS = {
    Action.DESTROY: "to destroy",
    Action.REPLACE: "to destroy and create again",
    Action.FORGET: "to forget",
    Action.UPDATE: "to change",
    Action.CREATE: "to add",
    Action.NONE: "to move in the state",
}

REASONS = {
    "replace_because_cannot_update": "can't be changed in place",
    "replace_because_tainted": "it was left half made",
    "replace_by_request": "by request",
    "delete_because_no_resource_config": "no longer in the code",
    "delete_because_no_module": "its module is no longer in the code",
    "delete_because_count_index": "count is lower now",
    "delete_because_each_key": "its key is no longer in the code",
}
"""Terraform's codes for why a resource is replaced or deleted, in words. Other codes are shown as they are."""
SHORT_VALUE = 24


def details(change: PlanChange, compared: tuple[AttributeChange, ...]) -> str:
    """Returns why, from where, and a short change itself, as Markdown in one line; often nothing."""
    parts = []
    if change.previous_address:
        parts.append(f"was {code(change.previous_address)}")
    if change.is_import:
        parts.append("imported")
    if change.reason:
        forced_by = ", ".join(code(attribute.path) for attribute in compared if attribute.forces_replacement)
        why = plain(REASONS.get(change.reason, change.reason.replace("_", " ")))
        parts.append(f"forced by {forced_by}" if forced_by else why)
    attribute = in_a_word(change, compared)
    if attribute is not None:
        before, after = (code(attribute_value(attribute.path, side)) for side in (attribute.before, attribute.after))
        parts.append(f"{code(attribute.path)}: {before} → {after}")
    return "; ".join(parts)


def in_a_word(change: PlanChange, compared: tuple[AttributeChange, ...]) -> AttributeChange | None:
    """Returns the one short attribute that an update changes, such as a capacity; None if there is more to say."""
    if change.action is not Action.UPDATE or len(compared) != 1:
        return None
    (attribute,) = compared
    values = (attribute_value(attribute.path, side) for side in (attribute.before, attribute.after))
    return attribute if all(len(value) <= SHORT_VALUE for value in values) else None


def compared_attributes(change: PlanChange) -> tuple[AttributeChange, ...]:
    """Returns what becomes different in a resource that stays or is replaced; nothing if it is created or destroyed.

    A tag is in it once, and not again among the provider's `tags_all`.
    """
    if change.before is None or change.after is None:
        return ()
    attributes = change.telling_attributes()
    tags = {attribute.path.partition(".")[2] for attribute in attributes if attribute.path.startswith("tags.")}
    return tuple(a for a in attributes if not (a.path.startswith("tags_all.") and a.path.partition(".")[2] in tags))


def counts_in_words(counts: dict[Action, int]) -> str:
    """Returns how many resources are changed in which way."""
    return ", ".join(f"{number:,} {NOUNS[action]}" for action, number in counts.items())
