"""What was measured is known to later runs of the same model and batch: the newer and the more alike, the surer."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.decide import DecisionInput
from controller.domain import Decision, FlavorEstimate, History
from controller.record.journal import Journal
from controller.record.known_speeds import MAX_AGE_S, SpeedsError, circumstances, keep, recall
from tests.unit.controller.harness import SETTINGS, Controller, new_world
from tests.unit.controller.world import World

NOW = 1_800_000_000.0
TRAINING = {"model": {"preset": "tiny"}, "batch": {"tokens": 600}, "vocabulary": {"size": 600}, "stop": {"steps": 9}}
NAME = circumstances(TRAINING, "ami-1")


def estimate(flavor: str, tokens_per_s: float | None, observations: int = 100) -> FlavorEstimate:
    return FlavorEstimate(flavor, 0.1, tokens_per_s, observations=observations)


def told(file: Path, name: str, now: float) -> dict[str, float]:
    """The speeds that are recalled, without how sure they are."""
    return {flavor: pytest.approx(speed.tokens_per_s) for flavor, speed in recall(file, name, now).items()}  # type: ignore[misc]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".centavo" / "speeds.json"


def test_only_what_was_measured_is_kept(file: Path) -> None:
    guessed, unknown = estimate("c5.xlarge", 1500.0, observations=0), estimate("t2.large", None)
    keep(file, NAME, [estimate("c5.large", 900.0), guessed, unknown], NOW)
    assert told(file, NAME, NOW + 60) == {"c5.large": 900.0}
    (entry,) = json.loads(file.read_text())
    assert (entry["observations"], entry["measured_at"]) == (100, NOW)


@pytest.mark.parametrize(
    ("training", "image"),
    [
        ({**TRAINING, "model": {"preset": "base"}}, "ami-1"),
        ({**TRAINING, "batch": {"tokens": 700}}, "ami-1"),
        ({**TRAINING, "vocabulary": {"size": 700}}, "ami-1"),
        ({**TRAINING, "batch": {"tokens": 700}}, "ami-2"),
    ],
)
def test_another_model_or_batch_knows_nothing_of_it(file: Path, training: Any, image: str) -> None:
    keep(file, NAME, [estimate("c5.large", 900.0)], NOW)
    assert recall(file, circumstances(training, image), NOW) == {}


def test_a_longer_training_of_the_same_model_knows_it(file: Path) -> None:
    keep(file, NAME, [estimate("c5.large", 900.0)], NOW)
    assert told(file, circumstances({**TRAINING, "stop": {"steps": 10**6}}, "ami-1"), NOW) == {"c5.large": 900.0}


def test_the_latest_measurement_of_the_same_circumstances_counts_and_others_stay(file: Path) -> None:
    other = circumstances({**TRAINING, "batch": {"tokens": 700}}, "ami-1")
    keep(file, NAME, [estimate("c5.large", 900.0), estimate("t2.large", 300.0)], NOW)
    keep(file, other, [estimate("c5.large", 950.0)], NOW)
    keep(file, NAME, [estimate("c5.large", 880.0)], NOW + 60)
    assert told(file, NAME, NOW + 60) == {"c5.large": 880.0, "t2.large": 300.0}
    assert told(file, other, NOW + 60) == {"c5.large": 950.0}


def test_a_speed_is_the_less_certain_the_older_it_is_and_the_less_alike_its_image(file: Path) -> None:
    keep(file, NAME, [estimate("c5.large", 900.0)], NOW)
    other, month_s = circumstances(TRAINING, "ami-2"), MAX_AGE_S
    cases = ((NAME, 0.0), (NAME, month_s / 4), (NAME, month_s), (other, 0.0), (other, month_s))
    found = [recall(file, name, NOW + age_s)["c5.large"].log_se for name, age_s in cases]
    expected = (0.1, math.hypot(0.1, 0.05), math.hypot(0.1, 0.1), math.hypot(0.1, 0.15), math.hypot(0.1, 0.1, 0.15))
    assert found == pytest.approx(expected)


def test_speeds_on_two_images_are_combined_by_how_sure_they_are(file: Path) -> None:
    """1 / 0.01 and 1 / (0.01 + 0.0225) are the weights of this image and of the other one."""
    keep(file, NAME, [estimate("c5.large", 1000.0)], NOW)
    keep(file, circumstances(TRAINING, "ami-2"), [estimate("c5.large", 500.0)], NOW)
    (found,) = recall(file, NAME, NOW).values()
    here, there = 1 / 0.01, 1 / 0.0325
    assert found.tokens_per_s == pytest.approx(1000 * 0.5 ** (there / (here + there)))
    assert found.log_se == pytest.approx((here + there) ** -0.5)
    assert found.log_se < 0.1


def test_what_is_older_than_thirty_days_is_forgotten(file: Path) -> None:
    keep(file, NAME, [estimate("c5.large", 900.0)], NOW)
    assert recall(file, NAME, NOW + MAX_AGE_S + 1) == {}
    keep(file, NAME, [estimate("t2.large", 300.0)], NOW + MAX_AGE_S + 1)
    assert [entry["flavor"] for entry in json.loads(file.read_text())] == ["t2.large"]


@pytest.mark.parametrize("torn", ["[{", '[{"flavor": "c5.large"}]', "[1]", '"x"'])
def test_a_file_that_is_torn_is_an_error_to_read_and_replaced_by_the_next_run(file: Path, torn: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(torn)
    with pytest.raises(SpeedsError, match=r"speeds\.json"):
        recall(file, NAME, NOW)
    keep(file, NAME, [estimate("c5.large", 900.0)], NOW)
    assert told(file, NAME, NOW) == {"c5.large": 900.0}


def histories_of(one: Controller) -> list[History]:
    """Runs to the end; what each decision could look back on."""
    seen: list[History] = []
    first = one.decide

    def decide(given: DecisionInput) -> Decision:
        seen.append(given.history)
        return first(given)

    one.decide = decide
    one.optimizer.run()
    one.journal.close()
    return seen


def second_run(tmp_path: Path, world: World) -> tuple[list[History], list[str]]:
    """What the second run of the same checkout knows, and what it says."""
    one = Controller(world, tmp_path)
    histories = histories_of(one)
    return histories, [event["message"] for event in Journal(one.journal.directory).events()]


def test_a_second_run_knows_the_flavors_that_it_does_not_run(controller: Callable[..., Any], tmp_path: Path) -> None:
    first = histories_of(controller())
    assert all(history.earlier_speeds == {} for history in first)
    histories, said = second_run(tmp_path, new_world(now=NOW + 86400))
    assert histories[0].earlier_speeds == {}, "all three run, and are measured"
    last = histories[-1].earlier_speeds
    assert last.keys() == {"t2.medium", "c5.xlarge"}
    assert last["t2.medium"].tokens_per_s == pytest.approx(300 / 0.9, rel=0.01)
    assert any(message.startswith("known from earlier runs, tokens/s: c5.large 1,000, c5.xlarge") for message in said)


def test_a_second_run_on_another_image_is_less_sure(controller: Callable[..., Any], tmp_path: Path) -> None:
    histories_of(controller())
    histories, said = second_run(tmp_path, new_world(now=NOW + 86400, image_id="ami-2"))
    last = histories[-1].earlier_speeds
    assert last and all(speed.log_se > math.hypot(0.1, 0.15) for speed in last.values())
    assert any("known from earlier runs" in message for message in said)


def test_a_torn_file_is_said_and_written_anew(controller: Callable[..., Any], tmp_path: Path) -> None:
    one: Controller = controller()
    file = one.environment.speeds_file
    file.parent.mkdir(parents=True)
    file.write_text("[{")
    one.optimizer.run()
    assert any("no speeds of earlier runs are known" in event["message"] for event in one.journal.events())
    assert {entry["flavor"] for entry in json.loads(file.read_text())} == {"t2.medium", "c5.large", "c5.xlarge"}


def test_the_content_of_further_files_is_part_of_the_circumstances() -> None:
    names = {circumstances(TRAINING, "ami-1", files) for files in ((), (b"fast",), (b"slow",), (b"fast", b"slow"))}
    assert len(names) == 4
    assert circumstances(TRAINING, "ami-1", [b"fast"]) == circumstances(TRAINING, "ami-1", [b"fast"])


@pytest.mark.parametrize("missing", ["training.yml", "localcloud.yml"])
def test_a_run_without_a_file_that_speeds_depend_on_ends_with_its_training(
    world: World, tmp_path: Path, missing: str
) -> None:
    settings = {**SETTINGS, "training": {"config": "training.yml", "speeds_depend_on": ["localcloud.yml"]}}
    (tmp_path / "localcloud.yml").write_text("flavors: {}\n")
    one = Controller(world, tmp_path, settings=settings)
    configure = one.ansible._configure

    def losing(hosts: list[str]) -> None:
        configure(hosts)
        (tmp_path / missing).unlink()

    one.ansible._configure = losing  # type: ignore[method-assign]
    assert one.optimizer.run()["status"] == "finished"
    said = [event["message"] for event in one.journal.events()]
    assert any("this pass was given up" in message and missing in message for message in said)


@pytest.mark.parametrize(("speeds", "is_known"), [("c5.large: 0.13\n", True), ("c5.large: 0.20\n", False)])
def test_a_change_of_a_file_that_speeds_depend_on_makes_old_ones_unknown(
    world: World, tmp_path: Path, speeds: str, is_known: bool
) -> None:
    """On `local` this is localcloud.yml, which says how fast each flavor is."""
    settings = {**SETTINGS, "training": {"config": "training.yml", "speeds_depend_on": ["localcloud.yml"]}}
    (tmp_path / "localcloud.yml").write_text("c5.large: 0.13\n")
    histories_of(Controller(world, tmp_path, settings=settings))
    (tmp_path / "localcloud.yml").write_text(speeds)
    histories = histories_of(Controller(new_world(now=NOW + 86400), tmp_path, settings=settings))
    assert any(history.earlier_speeds for history in histories) is is_known


@pytest.mark.parametrize(("mode", "is_known"), [(None, True), ("standard", True), ("unlimited", False)])
def test_speeds_in_one_mode_of_cpu_credits_are_not_those_in_another(
    world: World, tmp_path: Path, mode: str | None, is_known: bool
) -> None:
    """A T2 that may spend surplus credits keeps its full speed; in standard mode, AWS's default for T2, it doesn't."""
    histories_of(Controller(world, tmp_path))
    later = new_world(now=NOW + 86400, cpu_credits={"t2.medium": mode} if mode else {})
    histories = histories_of(Controller(later, tmp_path))
    assert any(history.earlier_speeds for history in histories) is is_known
