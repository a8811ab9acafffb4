"""The trainer's commands. Each imports what it needs itself: `attach` is started while others wait for it."""

# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        datefmt="%H:%M:%S",
    )
    # Horovod's launcher tells its every step through the root logger.
    logging.getLogger().handlers[0].addFilter(lambda record: record.name != "root" or record.levelno >= logging.WARNING)
    try:
        return int(options.run(options))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    description = "Train here: alone, or as one rank of a plain horovodrun."
    train = commands.add_parser("train", help=description, description=description, add_help=False)
    train.add_argument(
        "-h", "--help", action=_HelpWithKeys, nargs=0, help="show this message, with all settings, and exit"
    )
    _add_config(train)
    train.add_argument("--resume", action="store_true",
                       help="go on from the newest usable checkpoint of the storage; without it the training begins "
                            "anew, and removes the checkpoints that are there")  # fmt: skip
    train.add_argument("--results", type=Path, help="fetch the results to this directory when all is done")
    train.set_defaults(run=_train)

    warm = commands.add_parser("warm", help="prepare a training, then wait to become a rank of it")
    _add_config(warm)
    warm.add_argument("--socket", type=Path, required=True, help="where to wait (a Unix socket)")
    warm.set_defaults(run=_warm)

    attach = commands.add_parser("attach", help="tie a launcher (on standard input) to the warm worker of this node")
    attach.add_argument("--socket", type=Path, required=True, help="where the warm worker waits")
    attach.add_argument("--wait", type=float, default=120.0, metavar="S", help="seconds to wait for it (default: 120)")
    attach.set_defaults(run=_attach)

    _add_launch(commands.add_parser("launch", help="train on the hosts of a file, which may change meanwhile"))

    translate = commands.add_parser("translate", help="translate lines of standard input with a trained model")
    translate.add_argument(
        "--model", type=Path, required=True, help="directory with model.params, model.json, vocabulary"
    )
    search = translate.add_argument_group("beam search", "defaults as in training.yml (see `train --help`, translate)")
    search.add_argument("--beam-size", type=int, help="hypotheses kept at each step")
    search.add_argument("--alpha", type=float, help="weight of the length penalty; 0: none")
    search.add_argument("--k", type=float, help="of the length penalty ((k + length) / (k + 1)) ** alpha")
    translate.set_defaults(run=_translate)

    score = commands.add_parser("score", help="BLEU (sacreBLEU) and exact match of translations")
    score.add_argument("hypotheses", type=Path, help="file of translations, one a line")
    score.add_argument("references", type=Path, help="file of what they should be, one a line")
    score.add_argument("--tokenize", default="13a", choices=("13a", "none", "intl", "char"),
                       help="how sacreBLEU cuts words; none for tokenised text (default: 13a)")  # fmt: skip
    score.add_argument("--lowercase", action="store_true", help="ignore case")
    score.set_defaults(run=_score)
    return parser


class _HelpWithKeys(argparse.Action):
    """Adds the settings to the help; an action of its own, since only then are they imported."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        from trainer.settings.help import described

        print(f"{parser.format_help()}\n{described()}")
        parser.exit()


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="training.yml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
                        help="override a key of training.yml, such as model.layers=2; may be repeated")  # fmt: skip
    parser.add_argument("--fact-path", type=Path, help="folder of the iteration fact, in place of facts.path")


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="training.yml, for the storage of the results")
    parser.add_argument("--hosts-file", type=Path, required=True, help="addresses, one a line; read again all the time")
    parser.add_argument("--results", type=Path, required=True, help="where results and done.json go")
    parser.add_argument(
        "--attach-command", required=True, help="how to attach on a node: ... -m trainer attach --socket ..."
    )
    parser.add_argument(
        "--network-interface",
        required=True,
        help="the head's interface towards the nodes, such as ens5; theirs is HOROVOD_GLOO_IFACE in their environment",
    )
    parser.add_argument("--min-np", type=int, default=1, help="fewest ranks to train with (default: 1)")
    parser.add_argument("--max-np", type=int, default=64, help="most ranks to train with (default: 64)")
    parser.add_argument("--ssh-port", type=int, help="of the nodes' SSH servers (default: 22)")
    parser.add_argument("--ssh-identity-file", type=Path, help="the private key (default: those that ssh finds)")
    parser.add_argument(
        "--ssh-config", type=Path, help="ssh configuration (host keys, jumps); the user's own is not read"
    )
    parser.add_argument("--ssh-user", help="who to log in as on the nodes (default: who runs this)")
    parser.add_argument("--start-patience", type=float, default=120.0, metavar="S",
                        help="how long to wait for all first hosts before min-np suffice (default: 120)")  # fmt: skip
    parser.set_defaults(run=_launch)


def _train(options: argparse.Namespace) -> int:
    from trainer.checkpoint.storage import open_storage
    from trainer.elastic.world import World
    from trainer.messages.lines import NoLink
    from trainer.settings.settings import read
    from trainer.training.ending import fetch_results
    from trainer.worker.rank import EXIT_FAILED, Rank, exit_at_once

    settings = read(options.config, options.overrides)
    rank = Rank.of(settings, options.fact_path)
    training = rank.prepare(NoLink(), resume=options.resume, is_elastic=World().is_elastic)
    if training is None:
        return EXIT_FAILED
    rank.orders.stop_on_signals()
    code = rank.train(training, NoLink())
    if code == 0 and options.results is not None and rank.facts.rank == 0:
        fetch_results(open_storage(settings.storage), options.results)
    exit_at_once(code)


def _warm(options: argparse.Namespace) -> int:
    from trainer.worker.warm import warm

    return warm(options.config, options.overrides, options.socket, options.fact_path)


def _attach(options: argparse.Namespace) -> int:
    from trainer.worker.attach import attach

    return attach(options.socket, options.wait)


def _launch(options: argparse.Namespace) -> int:
    from trainer.launch.launcher import Launcher, LaunchOptions
    from trainer.settings.settings import read

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
    )
    return Launcher(launch_options, read(options.config)).run()


def _translate(options: argparse.Namespace) -> int:
    from trainer.data.corpus.files import lines_of
    from trainer.data.vocabulary import Vocabulary
    from trainer.inference.translate import translate
    from trainer.model.transformer import load
    from trainer.settings.settings import TranslateSettings

    asked = {name: getattr(options, name) for name in ("beam_size", "alpha", "k")}
    settings = TranslateSettings(**{name: value for name, value in asked.items() if value is not None})
    model, vocabulary = load(options.model), Vocabulary.load(options.model)
    if len(vocabulary) != model.vocab_size:
        raise ValueError(
            f"{options.model}: the vocabulary has {len(vocabulary)} pieces and the model {model.vocab_size}: "
            "they are not of the same training"
        )
    sentences = lines_of(sys.stdin.buffer.read(), "standard input")
    for translation in translate(model, vocabulary, sentences, settings):
        print(translation)
    return 0


def _score(options: argparse.Namespace) -> int:
    from trainer.data.corpus.files import read_lines
    from trainer.inference.score import score

    hypotheses, references = read_lines(options.hypotheses), read_lines(options.references)
    result = score(hypotheses, references, options.tokenize, options.lowercase)
    print(f"BLEU {result.bleu:.2f} ({result.signature}), exact match {result.exact_match:.2%}")
    return 0
