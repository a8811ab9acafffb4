"""The first thing that a rank does: it says in its fact that it starts.

MXNet is not imported here, since that takes seconds. Until then, a reader would take the fact of an earlier rank on
this node for a present one.
"""

from __future__ import annotations

from pathlib import Path

from trainer.node.brake import emulated_speed
from trainer.node.fact import State
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Metadata
from trainer.settings.training import Settings


def announce_start(settings: Settings, fact_path: Path | None = None) -> tuple[FactWriter, Metadata]:
    """Writes a fact that this node's rank starts.

    Args:
        settings: The training.
        fact_path: The folder of the fact; None: as the settings say.

    Returns:
        What writes the fact from now on, and what the node knows about itself.

    Raises:
        ValueError: The environment asks for an impossible emulated speed.
    """
    metadata = Metadata()
    folder = fact_path or Path(settings.facts.path)
    facts = FactWriter(folder, metadata.instance(), emulated_speed=emulated_speed())
    facts.announce(State.STARTING, "loading the corpus and building the model")
    return facts, metadata
