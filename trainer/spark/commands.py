"""The trainer's commands that run on Spark. Spark is imported when one of them runs."""

# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from trainer.data.petastorm.extra import require_extra
from trainer.inference.options import add_model, add_scoring, add_search, search_of
from trainer.settings.options import add_config, add_resume

LOCAL = "local[*]"
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_engine(prepare: argparse.ArgumentParser) -> None:
    """Adds the options of `prepare` that are about Spark."""
    prepare.add_argument("--engine", choices=("built-in", "spark"), default="built-in",
                         help="what prepares the corpus; both write the same bytes. spark needs `make setup SPARK=1` "
                              "(default: built-in)")  # fmt: skip
    spark = prepare.add_argument_group("with --engine spark")
    _add_master(spark, default=None)
    spark.add_argument("--petastorm", type=Path, metavar="FOLDER",
                       help="also keep the pairs as a data set of Petastorm in this folder, which `corpus.kind: "
                            "petastorm` trains on")  # fmt: skip


def add_commands(commands: _Commands) -> None:
    """Adds the commands that run on Spark and on nothing else."""
    _add_train(commands)
    _add_translate(commands)
    _add_score(commands)


def prepare(options: argparse.Namespace) -> int:
    """Runs `prepare --engine spark`."""
    require_extra("prepare --engine spark")
    from trainer.preparing.report import told
    from trainer.settings.file import read_as
    from trainer.settings.preparation import PreparationSettings
    from trainer.spark.preparing.engine import prepare_on_spark
    from trainer.spark.session import spark_session

    settings = read_as(PreparationSettings, options.config, options.overrides)
    with spark_session(options.master or LOCAL) as spark:
        print(told(prepare_on_spark(spark, settings, _expanded(options.petastorm))))
    return 0


def _add_train(commands: _Commands) -> None:
    description = "Train on Spark: horovod.spark.run starts the ranks, a fixed number of them."
    train = commands.add_parser("spark-train", help=description, description=description)
    add_config(train)
    _add_master(train)
    train.add_argument(
        "--ranks", type=int, help="how many ranks train (default: as many as Spark runs tasks at a time)"
    )
    add_resume(train)
    train.add_argument("--network-interface", metavar="NAME",
                       help="the interface by which the ranks reach each other (default: Horovod looks for one; the "
                            "loopback on one machine)")  # fmt: skip
    train.add_argument("--prepare", type=Path, metavar="CORPUS_YML",
                       help="first prepare the corpus of this file, on the same session")  # fmt: skip
    train.add_argument("--petastorm", type=Path, metavar="FOLDER", help="with --prepare: as in `prepare`")
    train.add_argument("--results", type=Path, help="a directory to which the results are copied at the end")
    train.set_defaults(run=_train)


def _add_translate(commands: _Commands) -> None:
    description = "Translate a column of Parquet with a trained model, on Spark."
    translate = commands.add_parser("spark-translate", help=description, description=description)
    add_model(translate)
    translate.add_argument("--input", required=True, metavar="PARQUET", help="the file or folder to read")
    translate.add_argument("--output", required=True, metavar="FOLDER", help="the folder for the result, in Parquet")
    translate.add_argument("--column", default="source", help="the column of the sentences (default: source)")
    translate.add_argument(
        "--into", default="translation", help="the column for their translations (default: translation)"
    )
    _add_master(translate)
    add_search(translate)
    translate.set_defaults(run=_translate)


def _add_score(commands: _Commands) -> None:
    description = "Score a column of translations in Parquet, on Spark: BLEU (sacreBLEU) and exact match."
    score = commands.add_parser("spark-score", help=description, description=description)
    score.add_argument("--input", required=True, metavar="PARQUET", help="the file or folder to read")
    score.add_argument("--column", default="translation", help="the column of the translations (default: translation)")
    score.add_argument("--references", default="target", help="the column of what they should be (default: target)")
    add_scoring(score)
    _add_master(score)
    score.set_defaults(run=_score)


def _add_master(parser: argparse._ActionsContainer, default: str | None = LOCAL) -> None:
    parser.add_argument("--master", default=default,
                        help="where Spark runs, as for spark-submit (default: local[*], this machine with all its "
                             "cores)")  # fmt: skip


def _train(options: argparse.Namespace) -> int:
    require_extra("spark-train")
    if options.petastorm is not None and options.prepare is None:
        raise ValueError("--petastorm belongs to --prepare")
    from trainer.preparing.report import told
    from trainer.settings.file import read, read_as
    from trainer.settings.preparation import PreparationSettings
    from trainer.spark.preparing.engine import prepare_on_spark
    from trainer.spark.session import spark_session
    from trainer.spark.training import copy_results, train_on_spark
    from trainer.worker.rank import Outcome

    settings = read(options.config, options.overrides)
    with spark_session(options.master) as spark:
        if options.prepare is not None:
            corpus = read_as(PreparationSettings, options.prepare)
            print(told(prepare_on_spark(spark, corpus, _expanded(options.petastorm))))
        outcomes = train_on_spark(spark, settings, options.ranks, options.resume, options.network_interface)
    is_finished = all(outcome is Outcome.FINISHED for outcome in outcomes)
    print(f"{len(outcomes)} ranks have {'finished' if is_finished else 'stopped'}")
    if is_finished and options.results is not None:
        copy_results(settings, options.results)
    return 0


def _translate(options: argparse.Namespace) -> int:
    require_extra("spark-translate")
    from trainer.spark.session import errors_of_tasks, spark_session
    from trainer.spark.translating import translate_dataframe

    settings = search_of(options)
    with spark_session(options.master) as spark, errors_of_tasks():
        frame = spark.read.parquet(options.input)
        translated = translate_dataframe(frame, options.model, settings, options.column, options.into)
        translated.write.parquet(options.output)
    return 0


def _score(options: argparse.Namespace) -> int:
    require_extra("spark-score")
    from trainer.spark.session import errors_of_tasks, spark_session
    from trainer.spark.translating import score_dataframe

    with spark_session(options.master) as spark, errors_of_tasks():
        frame = spark.read.parquet(options.input)
        found = score_dataframe(frame, options.column, options.references, options.tokenize, options.lowercase)
    print(found.told)
    return 0


def _expanded(folder: Path | None) -> Path | None:
    return None if folder is None else folder.expanduser()
