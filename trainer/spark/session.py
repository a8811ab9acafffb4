"""A session of Spark, and what its errors mean."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trainer.preparing.errors import PreparationError
from trainer.spark.java import java_home
from trainer.storage.storage import StorageError

LOOPBACK = "127.0.0.1"
PASSED_ON: dict[str, type[Exception]] = {"PreparationError": PreparationError, "StorageError": StorageError}
"""Errors of tasks that say by themselves what to do."""
RAISED = re.compile(r"^(?:\w+\.)*(\w+): (.+)$", re.MULTILINE)
"""How a traceback of Python ends: the error's class and its message."""


class SparkError(ValueError):
    """Something failed on Spark. The message says what."""


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """Gives a session, and stops it.

    Args:
        master: Where Spark runs, as `spark-submit --master` takes it: local[*] is this machine with all its cores.

    Raises:
        NoJavaError: There is no Java that Spark can run on.
        SparkError: Spark does not start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = str(java_home(os.environ))
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.executorEnv.PYTHONWARNINGS": "ignore::FutureWarning",  # Petastorm's, about pyarrow
    }
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        options |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of every connection
    builder = SparkSession.builder.appName("centavo").master(master)
    for name, value in options.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except (Py4JError, PySparkException, RuntimeError) as error:
        raise SparkError(f"Spark does not start with the master {master}: {_first_line(error)}") from error
    try:
        session.sparkContext.setLogLevel("OFF")  # an error of a task is raised here, and told once
        yield session
    finally:
        session.stop()


def is_local(master: str) -> bool:
    """Returns whether Spark runs in processes of this machine alone."""
    return master.startswith("local")


@contextmanager
def errors_of_tasks() -> Iterator[None]:
    """Raises what a task has raised, in place of Spark's error about it."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise _cause(str(error)) from error


def _cause(told: str) -> Exception:
    """Returns the error that a task has raised, by the text of Spark's error."""
    _, is_python, traceback = told.partition("Traceback (most recent call last):")
    raised: list[Any] = RAISED.findall(traceback.partition("\n\tat ")[0]) if is_python else []
    if not raised:
        return SparkError(f"Spark failed: {told.strip().splitlines()[0] if told.strip() else 'it tells no reason'}")
    name, message = raised[-1]
    if name in PASSED_ON:
        return PASSED_ON[name](message)
    return SparkError(f"a task of Spark failed: {name}: {message}")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
