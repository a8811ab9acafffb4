"""An error of a task is told as what it is."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.needs_tool("spark")

FROM_A_TASK = """An error occurred while calling o59.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 0.0 in stage 1.0: PythonException: \
Traceback (most recent call last):
  File "worker.py", line 1247, in main
    process()
trainer.preparing.errors.{}: {}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
OtherError: another one
"""


@pytest.mark.parametrize(
    ("told", "kind", "message"),
    [
        (FROM_A_TASK.format("PreparationError", "a.gz: torn: line 3"), "PreparationError", "a.gz: torn: line 3"),
        (FROM_A_TASK.format("StorageError", "no answer"), "StorageError", "no answer"),
        (
            FROM_A_TASK.format("OSError", "[Errno 28] full"),
            "SparkError",
            "a task of Spark failed: OSError: [Errno 28] full",
        ),
        ("Python worker exited\n\tat org.apache", "SparkError", "Spark failed: Python worker exited"),
        ("", "SparkError", "Spark failed: it tells no reason"),
    ],
)
def test_the_cause_is_what_the_task_has_raised(told: str, kind: str, message: str) -> None:
    from pyspark.errors import PySparkException

    from trainer.spark.session import errors_of_tasks

    with pytest.raises((ValueError, RuntimeError)) as raised, errors_of_tasks():
        raise PySparkException(told)
    assert (type(raised.value).__name__, str(raised.value)) == (kind, message)


@pytest.mark.slow
def test_an_error_of_a_real_task_is_passed_on_with_its_own_words(spark: object) -> None:
    from pyspark.sql import SparkSession

    from trainer.preparing.errors import PreparationError
    from trainer.spark.session import errors_of_tasks

    def fail(number: int) -> int:
        raise PreparationError(f"line {number}: torn")

    assert isinstance(spark, SparkSession)
    with pytest.raises(PreparationError, match=r"^line 7: torn$"), errors_of_tasks():
        spark.sparkContext.parallelize([7], 1).map(fail).collect()
