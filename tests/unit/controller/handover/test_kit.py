"""What the head gets beside the bundle: once, its manifest last, and refused before anything costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.config.settings import WheelhouseSettings
from controller.domain.errors import AwsError, ConfigError
from controller.handover.kit import Kit, variables_of_kit
from controller.owning.keys import is_own
from tests.unit.controller.handover.tools_in_memory import TOOLS_DIGEST, NoTools, ToolsInMemory
from tests.unit.controller.supplying import DIGEST, Builder, NoBuilder, WorldStore

MANIFEST = f"control/tools/{TOOLS_DIGEST}.json"
ARCHIVE = f"control/tools/{TOOLS_DIGEST}/{'8' * 64}.tar.gz"


class Desk:
    """A machine that hands a run over, and a bucket."""

    def __init__(self, folder: Path) -> None:
        self.store, self.said, self.tools, self.wheels = (
            WorldStore(),
            list[str](),
            ToolsInMemory(folder),
            Builder(folder),
        )
        settings = WheelhouseSettings(python="3.11", glibc="2.36")
        self.kit = Kit(settings, self.store, self.wheels, self.tools, self.said.append)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_packages_are_had_before_anything_costs_and_all_is_uploaded_once(desk: Desk) -> None:
    desk.kit.make_ready()
    desk.kit.make_ready()
    assert (desk.wheels.builds, desk.store.writes, len(desk.said)) == (1, [], 1)
    provided = desk.kit.provide("b")
    assert desk.store.writes[-2:] == [ARCHIVE, MANIFEST] and f"wheelhouse/{DIGEST}.json" in desk.store.writes
    assert "once" in desk.said[-1]
    assert desk.kit.provide("b") == provided
    assert (len(desk.store.writes), desk.tools.packs) == (4, 1)
    assert is_own(ARCHIVE), "a bucket that holds no results can be destroyed"


def test_an_upload_that_broke_off_is_made_again(desk: Desk) -> None:
    write = desk.store.write

    def broken(bucket: str, key: str, content: bytes) -> None:
        if key == ARCHIVE:
            raise AwsError("AWS did not take it")
        write(bucket, key, content)

    desk.store.write = broken  # type: ignore[method-assign]
    with pytest.raises(AwsError):
        desk.kit.provide("b")
    assert MANIFEST not in desk.store.writes
    desk.store.write = write  # type: ignore[method-assign]
    desk.kit.provide("b")
    assert desk.store.writes[-2:] == [ARCHIVE, MANIFEST]


def test_the_role_is_told_where_all_of_it_lies(desk: Desk) -> None:
    variables = variables_of_kit(desk.kit.provide("b"), lambda key: f"https://{key}")
    assert variables["tools"] == {
        "digest": TOOLS_DIGEST, "machine": "x86_64", "url": f"https://{ARCHIVE}", "sha256": "8" * 64, "size": 5,
    }  # fmt: skip
    assert variables["packages"]["made_for"]["digest"] == DIGEST
    assert variables["packages"]["url"].startswith(f"https://wheelhouse/{DIGEST}/")


def test_a_machine_whose_terraform_the_head_can_not_run_is_refused(desk: Desk) -> None:
    kit = Kit(desk.kit.settings, desk.store, desk.wheels, NoTools(), desk.said.append)
    with pytest.raises(ConfigError, match="the head is Linux on x86_64, and this machine is not") as raised:
        kit.make_ready()
    assert "Run without `--detach`" in raised.value.next_step and desk.wheels.builds == 0


def test_a_head_that_has_everything_gets_nothing(desk: Desk) -> None:
    kit = Kit(None, desk.store, NoBuilder(), NoTools(), desk.said.append)
    kit.make_ready()
    assert variables_of_kit(kit.provide("b"), str) == {"packages": None, "tools": None} and desk.store.writes == []
