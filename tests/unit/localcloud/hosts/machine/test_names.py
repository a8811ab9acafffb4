"""Names of what a cloud makes."""

from __future__ import annotations

from pathlib import Path

from localcloud.hosts.machine.names import Names

MOST_CHARACTERS = 15  # of an interface's name


def test_two_clouds_have_different_names() -> None:
    assert Names.of(Path("/a/.localcloud")).prefix != Names.of(Path("/b/.localcloud")).prefix


def test_the_names_of_links_are_short_enough_carry_the_prefix_and_differ() -> None:
    names = Names.of(Path("/a/.localcloud"))
    found = [names.gate, names.bridge("subnet-1"), names.bridge("subnet-2"), names.cable("i-1"), names.cable("i-2")]
    assert len(set(found)) == len(found)
    assert all(len(name) <= MOST_CHARACTERS and name.startswith(names.prefix) for name in found)
    assert names.bridge("subnet-1").startswith(names.bridges)
    assert not names.cable("i-1").startswith(names.bridges)
