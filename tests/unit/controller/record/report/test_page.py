"""What the page is made of: the aggregated series, the packed decisions, the words for what is not known."""

from __future__ import annotations

import base64
import gzip
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG

from controller.domain import Fleet
from controller.domain.errors import JournalError
from controller.record.journal import Journal
from controller.record.report.html import picture, series
from controller.record.report.html.packed_decisions import pack, rounded
from controller.record.report.html.page import alternatives_rows, answer, make_page
from controller.record.report.html.plots.figure import WIDE
from controller.record.report.html.plots.scaling import iteration_times
from controller.record.report.html.run import Run, read_run
from controller.record.report.html.two_runs import differences, make_comparison
from controller.record.report.report import make_report
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import BEGAN, PRICES, SyntheticRun


def read(journal: Journal) -> Run:
    return read_run(journal, make_report(journal, PRICES, BEGAN + 2000))


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read(synthetic.moved_run(tmp_path_factory.mktemp("moved")))


def test_a_line_of_many_points_keeps_its_middle_and_its_extremes() -> None:
    points = [(float(x), float(x % 10)) for x in range(10_000)]
    line = series.thinned(points, most=100)
    assert len(line.x) == 100
    assert line.is_thinned
    assert (min(line.low), max(line.high)) == (0.0, 9.0)
    assert set(line.y) == {4.5}
    assert series.thinned(points[:50], most=100).y == tuple(y for _, y in points[:50])


def test_the_fleet_over_time_is_the_runs(moved: Run) -> None:
    minutes, counts = series.fleet_over_time(moved)
    assert minutes == sorted(minutes)
    assert counts["c5.large"][0] == 1
    assert counts["c5.large"][-1] == 6
    assert max(map(sum, zip(*counts.values(), strict=True))) == 11


def test_the_cost_over_time_is_that_of_all_that_runs(moved: Run) -> None:
    line = series.cost_over_time(moved)
    cost = {fleet["name"]: fleet["usd_per_million_tokens"] for fleet in moved.report["alternatives"]["fleets"]}
    assert line.y[0] == pytest.approx(cost["first fleet"], rel=0.1)
    assert line.y[-1] == pytest.approx(cost["c5.large"], rel=0.1)
    assert max(line.y) < 1.5 * line.y[0]


def test_compute_times_per_token_tell_flavors_apart(moved: Run) -> None:
    spreads = {spread.flavor: spread for spread in series.compute_spreads(moved, per_tokens=1000)}
    assert set(spreads) == set(PRICES)
    for flavor, spread in spreads.items():
        assert spread.median == pytest.approx(1e6 / synthetic.SPEEDS[flavor], rel=0.1)
        assert spread.p5 <= spread.q1 <= spread.median <= spread.q3 <= spread.p95


def test_the_model_stands_beside_what_was_measured(moved: Run) -> None:
    measured = series.step_times(moved)
    assert {step.fleet for step in measured} >= {Fleet({"c5.large": 6})}
    for step in measured:
        assert step.modelled is None or step.modelled == pytest.approx(step.median, rel=0.1)
    flavor, curve = series.model_curve(moved)
    assert flavor == "c5.large"
    assert [size for size, _ in curve] == [1, 2, 3, 4, 6, 8, 12, 16, 24]


def test_moves_are_marked_at_the_step_they_ended(moved: Run) -> None:
    ((number, step),) = series.move_steps(moved)
    assert number == 2
    assert 500 < step < 700


TRAIN_LOG = (
    '{"step": 5, "loss": 6.5, "t": "2026-11-21T06:00:00.000Z"}',
    '{"step": 7, "skipped_updates": 1, "t": "2026-11-21T06:00:01.000Z"}',
    '{"step": 10, "validation_loss": 6.25, "t": "2026-11-21T06:00:02.000Z"}',
    '{"step": 10, "loss": 6.0, "t": "2026-11-21T06:00:03.000Z"}',
)


def write_train_log(run: SyntheticRun, *lines: str) -> None:
    path = run.journal.directory / "results" / "train.log"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def test_the_losses_are_those_of_the_trainers_log_beside_its_other_lines(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(3)
    write_train_log(run, *TRAIN_LOG)
    assert [(point.step, point.loss) for point in read(run.journal).losses] == [(5, 6.5), (10, 6.0)]


@pytest.mark.parametrize("lines", [(), TRAIN_LOG[1:3], (*TRAIN_LOG, '{"step": 15, "lo'), (*TRAIN_LOG, "[]", "5")])
def test_the_losses_are_those_of_the_observations_if_the_log_has_none(tmp_path: Path, lines: tuple[str, ...]) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(3)
    expected = read(run.journal).losses
    assert len(expected) == 3
    write_train_log(run, *lines)
    assert read(run.journal).losses == expected


def test_more_flavors_than_colours_share_the_last(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    read_ = read(run.journal)
    many = [f"f{i}" for i in range(12)]
    object.__setattr__(read_, "report", {**read_.report, "flavors": {f: {} for f in many}})
    assert len(read_.flavors) == 18
    assert len(series.coloured_flavors(read_)) <= series.MOST_FLAVORS


def unpack(packed: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return document


def test_every_decision_is_packed_with_its_evidence(moved: Run) -> None:
    document = unpack(pack(moved.decisions, moved.started_at))
    words, rows = document["words"], document["decisions"]
    assert len(rows) == len(moved.decisions)
    for row, decision in zip(rows, moved.decisions, strict=True):
        assert words[row[1]] == decision["verdict"]
        assert words[row[3]] == decision["reason"]["text"]
        assert row[0] == round(decision["at"] - moved.started_at)
        assert [words[flavor[0]] for flavor in row[9]] == [flavor["flavor"] for flavor in decision["flavors"]]
        assert row[9][0][2] == rounded(decision["flavors"][0]["tokens_per_s"])
        assert len(row[10]) == len(decision["fleets"])


@pytest.mark.parametrize(
    ("value", "short"), [(None, None), (0.0, 0), (12_345, 12_345), (1234.56, 1235), (0.000123456, 0.0001235)],
)  # fmt: skip
def test_evidence_has_four_digits(value: float | None, short: float | None) -> None:
    assert rounded(value) == short


def test_the_page_is_one_file_that_refers_to_nothing_outside(moved: Run) -> None:
    page = make_page(moved)
    outside = re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', page)
    assert outside == []
    assert "@import" not in page
    assert "url(http" not in page
    assert not re.search(r"#fe[0-9a-f]{2}a7", page), "a stand-in colour was left over"


def test_reasons_are_shown_as_text_and_never_as_markup(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(2, reason="</script><b>bold</b>")
    run.note("<img src=x>")
    page = make_page(read(run.end("failed", "<script>alert(1)</script>", scores=False)))
    assert "<script>alert(1)" not in page
    assert "<img src=x>" not in page
    assert "<b>bold</b>" not in page


def test_this_run_stands_among_its_alternatives_in_order_of_cost(moved: Run) -> None:
    rows = alternatives_rows(moved.report)
    assert [row["usd"] for row in rows] == sorted(row["usd"] for row in rows)
    assert [row["name"] for row in rows if row["is_own"]] == ["this run"]
    assert {"first fleet", *PRICES} <= {row["name"] for row in rows}
    assert rows[-1]["share"] == 100


def test_the_answer_names_the_cheapest_and_the_most_expensive_single_flavor(moved: Run) -> None:
    found = answer(moved.report)
    assert found["has_moved"]
    assert found["first"]["name"] == "first fleet"
    assert found["less"] == pytest.approx(found["first"]["usd"] - moved.report["alternatives"]["training_usd"])
    assert (found["cheapest"]["name"], found["most_expensive"]["name"]) == ("c5.large", "t2.xlarge")


def test_the_answer_says_no_more_than_is_known(moved: Run) -> None:
    other = {"name": "c5.large", "fleet": {"c5.large": 3}, "usd": 0.1}
    known = {**moved.report["alternatives"], "fleets": [other]}
    found = answer({"moves": [{"outcome": "rolled_back"}], "alternatives": known})
    assert found == {"has_moved": False, "first": None, "less": None, "cheapest": other, "most_expensive": None}
    assert answer({"moves": [], "alternatives": {**known, "fleets": []}})["cheapest"] is None


def test_the_names_of_fleets_of_like_sizes_do_not_lie_over_each_other(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, initial=Fleet({"c5.large": 3, "c5.xlarge": 3}))
    run.boot()
    run.train(3)
    for target in ({"c5.large": 2, "c5.xlarge": 4}, {"c5.large": 4, "c5.xlarge": 2}):
        run.move(Fleet(target))
        run.train(3)
    figure = iteration_times(read(run.end()), WIDE)
    assert figure is not None
    FigureCanvasSVG(figure).draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 5
    assert not [1 for one, other in combinations(boxes, 2) if one.overlaps(other)]


def test_the_models_curve_does_not_flatten_what_was_measured(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, initial=Fleet({"c5.large": 200}), tokens_per_step=1e6)
    run.boot()
    run.train(3)
    figure = iteration_times(read(run.end()), WIDE)
    assert figure is not None
    assert figure.axes[0].get_ylim()[1] < 3e3 * run.step_s(run.fleet)


def test_two_set_ups_differ_in_the_lines_that_differ() -> None:
    one = {"commit": "a", "command": {"POLICY": "x"}, "versions": {"python": "3.11"}, "files": {"f": "p: 1\nq: 2\n"}}
    two = {**one, "command": {"POLICY": "y"}, "files": {"f": "p: 1\nq: 3\n"}}
    told = [line for line in differences(one, two) if not line.startswith(("@", "---", "+++"))]
    assert told == ["-command POLICY: x", "+command POLICY: y", "-f: q: 2", "+f: q: 3"]
    assert list(differences(one, one)) == []


def test_a_run_that_moved_and_one_that_never_began_are_compared_all_the_same(moved: Run, tmp_path: Path) -> None:
    page = make_comparison(moved, read(synthetic.interrupted_run(tmp_path)))
    assert "–" in page
    assert page.count("<svg") == 6


def test_the_picture_shows_in_light_and_in_dark(moved: Run, tmp_path: Path) -> None:
    picture.write(moved, tmp_path / "docs" / "run.svg")
    text = (tmp_path / "docs" / "run.svg").read_text()
    assert len(text) < 60_000
    assert "prefers-color-scheme:dark" in text
    assert "moved to 6 x c5.large" in text
    used = set(re.findall(r"var\(--([\w-]+)\)", text))
    assert used <= set(picture.LIGHT)
    assert set(picture.LIGHT) == set(picture.DARK)


def test_there_is_no_picture_of_a_run_that_measured_nothing(tmp_path: Path) -> None:
    run = read(synthetic.interrupted_run(tmp_path))
    with pytest.raises(JournalError, match="has measured no cost"):
        picture.write(run, tmp_path / "run.svg")
    assert not (tmp_path / "run.svg").exists()
