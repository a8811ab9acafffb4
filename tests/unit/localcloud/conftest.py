"""Clouds for the tests of localcloud: one for each module, because starting one takes two seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.local_cloud import LocalCloud


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """A running cloud."""
    with LocalCloud(tmp_path_factory.mktemp("cloud"), speeds={"c5.large": 0.2}, spot_notice_s=0.5) as cloud:
        yield cloud
