"""The settings of the model card."""

from __future__ import annotations

from pydantic import Field

from trainer.settings.section import Section


class CardSettings(Section):
    """What the model card says beside what the training knows: results have it as `model-card.md`."""

    name: str | None = Field(default=None, description="the name of the model; null: by its languages")
    license: str | None = Field(
        default=None, description="the licence of the model, such as apache-2.0; null: the card says nothing about it"
    )
    data: str | None = Field(
        default=None, description="where the text is from and under which licence; null: the card has its numbers only"
    )
