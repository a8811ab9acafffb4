"""One session of Spark for all tests of a process that need one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_text import preparation
from trainer.settings.preparation import PreparationSettings


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of Spark with two tasks at a time. Only tests that need the tool `spark` may ask for it."""
    from trainer.spark.session import spark_session

    with spark_session("local[2]") as session:
        yield session


@pytest.fixture
def commands_on_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets commands run on the session of the tests, and leave it open."""

    @contextmanager
    def shared(master: str) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr("trainer.spark.session.spark_session", shared)


@pytest.fixture(scope="session")
def on_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> PreparationSettings:
    """A small corpus that Spark has prepared. Its data set of Petastorm is in the folder `kept` beside the output."""
    from trainer.spark.preparing.engine import prepare_on_spark

    settings = preparation(tmp_path_factory.mktemp("on-spark"))
    prepare_on_spark(spark, settings, Path(settings.output).with_name("kept"))
    return settings
