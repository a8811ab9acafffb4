"""What every command of `centavo` is made of."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from controller.commands.context import Context

AddOptions = Callable[[argparse.ArgumentParser], None]


def no_options(parser: argparse.ArgumentParser) -> None:
    """Adds nothing to a parser, for commands that take no options."""


@dataclass(frozen=True)
class Command:
    """A command that works in one environment."""

    name: str
    purpose: str
    """Says in the list of commands what the command is for."""
    run: Callable[[Context, argparse.Namespace], int]
    """Does what the options ask for, and returns the exit code."""
    add_options: AddOptions = no_options
    aliases: tuple[str, ...] = ()
    """Other names of the command."""
    changes_things: bool = False
    """Whether the command changes nodes, capacities or runs. One such command at a time works in an environment."""


@dataclass(frozen=True)
class StandaloneCommand:
    """A command that needs no environment."""

    name: str
    purpose: str
    description: str
    run: Callable[[argparse.Namespace], int]
    add_options: AddOptions = no_options
