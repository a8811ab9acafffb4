"""The trainer's commands.

Each command imports what it needs when it runs, so that `attach` starts without MXNet.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from trainer.inference.options import add_model, add_scoring, add_search, search_of
from trainer.settings.options import add_config, add_resume
from trainer.spark import commands as spark
from trainer.storage.storage import StorageError

if TYPE_CHECKING:
    from trainer.data.prepared.manifest import Manifest
    from trainer.settings.training import Settings

EXIT_USAGE = 2
FACT_FILE = "iteration.fact"
"""As in `trainer.node.fact`, whose import `attach` need not wait for."""
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Returns its exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        datefmt="%H:%M:%S",
    )
    # Horovod's launcher logs each thing it does through the root logger.
    logging.getLogger().handlers[0].addFilter(lambda record: record.name != "root" or record.levelno >= logging.WARNING)
    try:
        return int(options.run(options))
    except (ValueError, OSError, StorageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    _add_prepare(commands)
    _add_train(commands)
    warm = commands.add_parser("warm", help="prepare a training, and wait to become a rank of it")
    _add_config_and_fact(warm)
    warm.add_argument("--socket", type=Path, required=True, help="the Unix socket to wait at")
    _add_wanted(warm)
    warm.set_defaults(run=_warm)

    memory = commands.add_parser(
        "memory", help="estimate the least memory of a worker process by training.yml alone, as JSON"
    )
    memory.add_argument("--config", type=Path, required=True, help="training.yml")
    memory.set_defaults(run=_memory, overrides=[])
    _add_plan_memory(commands)

    attach = commands.add_parser(
        "attach", help="connect a launcher, on standard input, with the warm worker of this node"
    )
    attach.add_argument("--socket", type=Path, required=True, help="the Unix socket that the warm worker waits at")
    attach.add_argument("--wait", type=float, default=120.0, metavar="S", help="seconds to wait for it (default: 120)")
    attach.add_argument("--fact-path", type=Path, help="the folder of the iteration fact, which is reported")
    attach.set_defaults(run=_attach)

    _add_launch(commands.add_parser("launch", help="train on the hosts of a file; the file may change meanwhile"))

    _add_translate(commands)
    _add_score(commands)
    spark.add_commands(commands)
    return parser


def _add_prepare(commands: _Commands) -> None:
    description = "Prepare a corpus of raw text, once, for any number of trainings and nodes."
    prepare = commands.add_parser("prepare", help=description, description=description, add_help=False)
    prepare.add_argument(
        "-h", "--help", action=_HelpOnPreparing, nargs=0, help="show this message, with all settings, and exit"
    )
    prepare.add_argument("--config", type=Path, required=True, help="corpus.yml")
    prepare.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
                         help="override a key of corpus.yml, such as shard_pairs=8000; may be repeated")  # fmt: skip
    prepare.add_argument("--processes", type=int,
                         help="how many processes work; the result is the same for any number (default: one for each "
                              "core)")  # fmt: skip
    spark.add_engine(prepare)
    prepare.set_defaults(run=_prepare)


def _add_plan_memory(commands: _Commands) -> None:
    description = "Show what a worker process needs memory for, and what part of a batch a node can take."
    plan = commands.add_parser("plan-memory", help=description, description=description)
    add_config(plan)
    plan.add_argument("--memory-mib", type=int, metavar="MIB",
                      help="the memory of the node in question (default: what is free on this machine)")  # fmt: skip
    plan.set_defaults(run=_plan_memory)


def _add_train(commands: _Commands) -> None:
    description = "Train on this node: alone, or as one rank under plain horovodrun."
    train = commands.add_parser("train", help=description, description=description, add_help=False)
    train.add_argument(
        "-h", "--help", action=_HelpWithKeys, nargs=0, help="show this message, with all settings, and exit"
    )
    _add_config_and_fact(train)
    add_resume(train)
    train.add_argument("--results", type=Path, help="a directory to which the results are copied at the end")
    train.set_defaults(run=_train)


def _add_translate(commands: _Commands) -> None:
    translate = commands.add_parser("translate", help="translate lines of standard input with a trained model")
    add_model(translate)
    add_search(translate)
    translate.set_defaults(run=_translate)


def _add_score(commands: _Commands) -> None:
    score = commands.add_parser("score", help="BLEU and chrF (sacreBLEU), and exact match of translations")
    score.add_argument("hypotheses", type=Path, help="a file of translations, one a line")
    score.add_argument("references", type=Path, help="a file of the right translations, one a line")
    add_scoring(score)
    score.set_defaults(run=_score)


class _HelpWithKeys(argparse.Action):
    """Shows the help and the settings, which are imported only when they are asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        from trainer.settings.help import help_on_settings

        print(f"{parser.format_help()}\n{help_on_settings()}")
        parser.exit()


class _HelpOnPreparing(argparse.Action):
    """Shows the help on `prepare` and its settings."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        from trainer.settings.help import help_on_settings
        from trainer.settings.preparation import PreparationSettings

        print(f"{parser.format_help()}\n{help_on_settings(PreparationSettings, 'corpus.yml')}")
        parser.exit()


def _add_config_and_fact(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("--fact-path", type=Path, help="the folder of the iteration fact, in place of facts.path")


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, required=True, help="training.yml, which names the storage of the results"
    )
    parser.add_argument(
        "--hosts-file",
        type=Path,
        required=True,
        help="the nodes' addresses, one a line; the file is read again all the time",
    )
    parser.add_argument("--results", type=Path, required=True, help="the directory for the results and done.json")
    parser.add_argument(
        "--attach-command",
        required=True,
        help="the command that attaches on a node: ... -m trainer attach --socket ...",
    )
    parser.add_argument(
        "--network-interface",
        required=True,
        help="the head's interface towards the nodes, such as ens5; the nodes' own is HOROVOD_GLOO_IFACE there",
    )
    parser.add_argument("--min-np", type=int, default=1, help="the fewest ranks to train with (default: 1)")
    parser.add_argument("--max-np", type=int, default=64, help="the most ranks to train with (default: 64)")
    parser.add_argument("--ssh-port", type=int, help="the port of the nodes' SSH servers (default: 22)")
    parser.add_argument("--ssh-identity-file", type=Path, help="the private key (default: those that ssh finds)")
    parser.add_argument(
        "--ssh-config", type=Path, help="an ssh configuration (host keys, jumps); the user's own is not read"
    )
    parser.add_argument("--ssh-user", help="the user on the nodes (default: the one who runs this)")
    parser.add_argument("--start-patience", type=float, default=120.0, metavar="S",
                        help="how long all hosts are waited for; then min-np suffice (default: 120)")  # fmt: skip
    _add_wanted(parser)
    parser.set_defaults(run=_launch)


def _add_wanted(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wanted-file", type=Path, metavar="FILE",
                        help="do nothing where this file is missing, and remove it when the training is over for this "
                             "node: so a reboot starts what ran before it, and nothing else")  # fmt: skip


def _prepare(options: argparse.Namespace) -> int:
    return spark.prepare(options) if _is_on_spark(options) else _prepare_here(options)


def _is_on_spark(options: argparse.Namespace) -> bool:
    """Returns which engine prepares. Raises ValueError for an option that the engine does not have."""
    is_on_spark: bool = options.engine == "spark"
    if is_on_spark and options.processes is not None:
        raise ValueError("--processes belongs to the built-in engine: Spark has --master local[N]")
    if not is_on_spark and (options.master is not None or options.petastorm is not None):
        raise ValueError("--master and --petastorm belong to --engine spark")
    return is_on_spark


def _prepare_here(options: argparse.Namespace) -> int:
    from trainer.preparing.prepare import prepare_corpus
    from trainer.preparing.report import told
    from trainer.settings.file import read_as
    from trainer.settings.preparation import PreparationSettings

    settings = read_as(PreparationSettings, options.config, options.overrides)
    cores = len(os.sched_getaffinity(0))
    print(told(prepare_corpus(settings, cores if options.processes is None else max(1, options.processes))))
    return 0


def _train(options: argparse.Namespace) -> int:
    from trainer.elastic.world import World
    from trainer.messages.lines import Silent
    from trainer.settings.file import read
    from trainer.storage.opening import open_storage
    from trainer.training.results import fetch_results
    from trainer.worker.rank import EXIT_FAILED, Outcome, Rank, exit_at_once

    settings = read(options.config, options.overrides)
    rank = Rank.of(settings, options.fact_path)
    training = rank.prepare(Silent(), resume=options.resume, is_elastic=World().is_elastic)
    if training is None:
        return EXIT_FAILED
    rank.requests.stop_on_signals()
    outcome = rank.train(training, Silent())
    code = EXIT_FAILED if outcome in (Outcome.FAILED, Outcome.CUT_OFF) else 0
    if code == 0 and options.results is not None and rank.facts.figures.rank == 0:
        fetch_results(open_storage(settings.storage), options.results)
    exit_at_once(code)


def _warm(options: argparse.Namespace) -> int:
    from trainer.worker.begin import begin

    return begin(options.config, options.overrides, options.socket, options.fact_path, options.wanted_file)


def _memory(options: argparse.Namespace) -> int:
    from trainer.training.memory_plan import plan_of

    print(json.dumps({"needed_bytes": plan_of(*_planned(options)).least}))
    return 0


def _plan_memory(options: argparse.Namespace) -> int:
    from trainer.node.memory import available_bytes, resident_bytes
    from trainer.training.memory_plan import plan_of
    from trainer.training.memory_preflight import MIB, plan_here, table

    if options.memory_mib is None:
        print(table(plan_here(*_planned(options)), available_bytes(resident_bytes())))
    else:
        print(table(plan_of(*_planned(options)), options.memory_mib * MIB))
    return 0


def _planned(options: argparse.Namespace) -> tuple[Settings, Manifest | None]:
    """Returns a training and the manifest of its prepared corpus, of which nothing else is read."""
    from trainer.data.opening import open_prepared
    from trainer.settings.file import read

    settings = read(options.config, options.overrides)
    if not settings.corpus.is_prepared:
        return settings, None
    return settings, open_prepared(settings.corpus, Path(settings.cache).expanduser()).manifest


def _attach(options: argparse.Namespace) -> int:
    from trainer.worker.attach import attach

    folder = None if options.fact_path is None else options.fact_path.expanduser()
    return attach(options.socket, options.wait, None if folder is None else folder / FACT_FILE)


def _launch(options: argparse.Namespace) -> int:
    from trainer.launch.launcher import Launcher
    from trainer.launch.open_files import open_many_files
    from trainer.launch.options import LaunchOptions
    from trainer.settings.file import read

    launch_options = LaunchOptions(
        hosts_file=options.hosts_file,
        results=options.results,
        attach_command=options.attach_command,
        network_interface=options.network_interface,
        min_np=options.min_np,
        max_np=options.max_np,
        ssh_port=options.ssh_port,
        ssh_identity_file=options.ssh_identity_file,
        ssh_config=options.ssh_config,
        ssh_user=options.ssh_user,
        start_patience_s=options.start_patience,
        wanted_file=options.wanted_file,
    )
    open_many_files()
    return Launcher(launch_options, read(options.config)).run()


def _translate(options: argparse.Namespace) -> int:
    from trainer.data.corpus.files import lines_of
    from trainer.inference.trained import load_trained
    from trainer.inference.translate import translate

    settings = search_of(options)
    model, vocabulary = load_trained(options.model)
    sentences = lines_of(sys.stdin.buffer.read(), "standard input")
    for translation in translate(model, vocabulary, sentences, settings):
        print(translation)
    return 0


def _score(options: argparse.Namespace) -> int:
    from trainer.data.corpus.files import read_lines
    from trainer.inference.chrf import character_score
    from trainer.inference.score import score

    hypotheses, references = read_lines(options.hypotheses), read_lines(options.references)
    result = score(hypotheses, references, options.tokenize, options.lowercase)
    print(result.told)
    by_characters = character_score(hypotheses, references, options.lowercase)
    print(f"chrF {by_characters.chrf:.2f} ({by_characters.signature})")
    return 0
