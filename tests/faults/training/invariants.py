"""What must hold after a training with a fault in it, seen from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.faults.training.trial import COMMIT_STEPS, STEPS, Trial
from tests.support.planned import planned_tokens

RESULTS = {"model.params", "model.json", "vocabulary", "train.log", "scores.json"}
RESUMED = re.compile(r"resumed from the checkpoint of step (\d+)")


def violations_of(trial: Trial) -> tuple[str, ...]:
    """Returns each invariant that did not hold, with what was seen. Nothing is said where the fault did not happen."""
    found = [*trial.violations, *_of_the_end(trial)]
    if not found:
        scores = trial.fleet.scores()
        found = [*_of_the_steps(trial, scores), *_of_the_replicas(trial, scores)]
    if trial.left:
        found.append(f"processes are left: {'; '.join(trial.left)}")
    if found:
        trial.told += ["The last lines of the launcher and the ranks:", *trial.fleet.log().splitlines()[-40:]]
    return tuple(found)


def _of_the_end(trial: Trial) -> Iterator[str]:
    results = trial.fleet.results
    try:
        done = json.loads((results / "done.json").read_text())
    except (OSError, ValueError):
        yield f"the training did not end within its limit: {trial.told[-1]}"
        return
    if (done["status"], trial.code) != ("finished", 0):
        yield f"the training ended {done['status']} ({done['reason']}), the launcher with {trial.code}"
    if re.search(trial.plot.evidence, trial.fleet.log()) is None:
        yield f"the log has nothing of the fault: {trial.plot.evidence}"
    missing = RESULTS - {path.name for path in results.iterdir()}
    if missing:
        yield f"results are missing: {', '.join(sorted(missing))}"


def _of_the_steps(trial: Trial, scores: dict[str, Any]) -> Iterator[str]:
    """Checks that each step counted once, and that few were made again."""
    if scores["steps"] != STEPS:
        yield f"{scores['steps']} steps were made, and not {STEPS}"
    planned = planned_tokens(trial.fleet.config, trial.directory / "cache", STEPS)
    if scores["tokens"] != planned:
        yield f"{scores['tokens']} tokens were trained on, and not {planned}: a step did not count once"
    lines = [json.loads(line) for line in (trial.fleet.results / "train.log").read_text().splitlines()]
    steps = [line["step"] for line in lines if "step" in line]
    if steps != sorted(steps):
        yield f"the steps of train.log go back: {steps}"
    lost = scores["steps_lost"]
    if lost is None:  # the training began again from a checkpoint that did not know of a stop
        lost = trial.highest_step - max((int(step) for step in RESUMED.findall(trial.fleet.log())), default=0)
    if lost > trial.plot.most_lost:
        yield f"{lost} steps were lost, and at most {trial.plot.most_lost} may be (commits: every {COMMIT_STEPS})"


def _of_the_replicas(trial: Trial, scores: dict[str, Any]) -> Iterator[str]:
    digests, plot = scores["parameters_sha256"], trial.plot
    if len(set(digests.values())) != 1 or not scores["replicas_identical"]:
        yield f"the ranks end with different parameters: {digests}"
    if len(digests) < plot.expected:
        yield f"{len(digests)} ranks finished, and not {plot.expected}"
    if scores["skipped_updates"] != plot.skipped:
        yield f"{scores['skipped_updates']} updates were skipped, and not {plot.skipped}"
    if bool(scores["replicas_corrected"]) != plot.corrected:
        yield f"{scores['replicas_corrected']} replicas were put right"
