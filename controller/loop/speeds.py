"""What is handed from run to run, recalled as a training begins and kept at its end: speeds, and durations of moves."""

from __future__ import annotations

import json
from pathlib import Path

from controller.config.environment import Environment
from controller.config.load import read_yaml
from controller.domain.errors import ConfigError
from controller.loop.job import Job
from controller.observe.credits.burstable import other_modes
from controller.record import known_durations as durations
from controller.record import known_speeds as speeds
from controller.record.journal import Journal


def recall_speeds(job: Job) -> None:
    """Keeps in the journal, once in a run, the speeds that earlier runs of the same model and batch have measured.

    Speeds that last are other ones in another mode of CPU credits, and count for the same modes only.
    """
    if job.journal.recalled() is not None:
        return
    environment, known = job.environment, {}
    training = environment.settings.training
    modes = other_modes({name: made.cpu_credits for name, made in job.cluster.made.outputs.flavors.items()})
    of_modes = [json.dumps(modes, sort_keys=True).encode()] if modes else []
    name = speeds.circumstances(
        read_yaml(environment.path(training.config)),
        job.cluster.instances.head().image_id or "",
        [*(_content(environment.path(file)) for file in training.speeds_depend_on), *of_modes],
    )
    try:
        known = speeds.recall(environment.speeds_file, name, job.clock.now())
    except speeds.SpeedsError as error:
        job.note(f"no speeds of earlier runs are known: {error}; the file will be written anew")
    job.journal.set_earlier_durations(durations.recall(environment.durations_file, name, job.clock.now()))
    job.journal.set_recalled(name, known)
    if known:
        told = ", ".join(f"{flavor} {speed.tokens_per_s:,.0f}" for flavor, speed in sorted(known.items()))
        job.note(f"known from earlier runs, tokens/s: {told}")


def _content(file: Path) -> bytes:
    """Returns the content of a file that speeds depend on. Raises ConfigError when it can't be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{file} can't be read: {error.strerror}.",
            "Make it readable, or remove it from training.speeds_depend_on.",
        ) from error


def keep_speeds(environment: Environment, journal: Journal) -> None:
    """Keeps for later runs what a run that ends has measured: speeds, and how long its moves took."""
    recalled, decision = journal.recalled(), journal.last_decision()
    if recalled is not None and decision is not None:
        speeds.keep(environment.speeds_file, recalled[0], decision.flavors, decision.at)
        durations.keep(environment.durations_file, recalled[0], journal.durations(), decision.at)
