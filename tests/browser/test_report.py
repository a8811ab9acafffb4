"""The report in a real browser: its console has no error, its plots are drawn, its numbers are those of report.json."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools import require

from controller.record.journal import Journal
from controller.record.report.html.page import write_page
from controller.record.report.html.two_runs import write_comparison
from controller.record.report.report import make_report, write_report
from controller.words.numbers import usd as in_dollars
from controller.words.reasons import reason_in_words
from tests.browser.chromium import Browser, Page, browser
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import BEGAN, PRICES

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("chromium")]
PLOTS = ("fleet", "cost", "compute", "loss", "scaling")
RUNS = ("moved_run", "moveless_run", "failed_run", "stopped_run", "interrupted_run", "running_run")
MEASURE = """svg => { const r = svg.getBoundingClientRect();
  return [r.width, r.height, svg.querySelectorAll('path').length, svg.querySelectorAll('text').length]; }"""
CHOOSE_MOVES = """(() => { const s = document.querySelector('#decisions select'); s.value = 'move';
  s.dispatchEvent(new Event('change')); document.querySelector('#decisions details').open = true; })()"""
Made = dict[str, tuple[Path, dict[str, Any]]]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(require("chromium"), tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Returns the page and the report.json of one run of each kind."""
    made: Made = {}
    for name in RUNS:
        make: Callable[[Path], Journal] = getattr(synthetic, name)
        journal = make(tmp_path_factory.mktemp(name))
        report = write_report(journal, PRICES, BEGAN + 2000)
        page = write_page(journal, report)
        made[name] = (page, json.loads((page.parent / "report.json").read_text()))
    return made


async def opened(page: Page, file: Path, **options: Any) -> None:
    await page.open(file, **options)
    await page.until("!document.getElementById('decisions') || document.getElementById('decisions').dataset.ready")


@pytest.mark.parametrize("name", RUNS)
def test_a_page_opens_without_errors_and_asks_the_network_for_nothing(
    chromium: Browser, reports: Made, name: str,
) -> None:  # fmt: skip
    async def look(page: Page) -> tuple[list[str], list[str], str]:
        await opened(page, reports[name][0])
        return page.errors, page.requests, await page.value("document.body.innerText")

    errors, requests, text = chromium.visit(look)
    assert errors == []
    assert requests == [reports[name][0].as_uri()]
    assert reports[name][1]["status"].replace("_", " ") in text
    assert "undefined" not in text
    assert "None" not in text


@pytest.mark.parametrize("name", ["moved_run", "moveless_run", "failed_run", "running_run"])
def test_every_plot_is_drawn(chromium: Browser, reports: Made, name: str) -> None:
    async def look(page: Page) -> dict[str, list[float]]:
        await opened(page, reports[name][0])
        return {
            plot: await page.value(f"({MEASURE})(document.querySelector('#plot-{plot} .wide svg'))") for plot in PLOTS
        }

    for plot, (width, height, paths, texts) in chromium.visit(look).items():
        assert width > 600 and height > 100, plot
        assert paths > 5 and texts > 4, plot


@pytest.mark.parametrize("name", ["moved_run", "moveless_run", "failed_run", "running_run"])
def test_the_numbers_on_the_page_are_those_of_report_json(chromium: Browser, reports: Made, name: str) -> None:
    async def look(page: Page) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
        await opened(page, reports[name][0])
        return (
            await page.value("[...document.querySelectorAll('[data-report]')].map("
                             "e => [e.dataset.report, e.innerText])"),
            await page.value("[...document.querySelectorAll('[data-flavor] [data-key]')].map(e => "
                             "[e.closest('tr').dataset.flavor, e.dataset.key, e.innerText])"),
            await page.value("[...document.querySelectorAll('[data-usd]')].map(e => [e.dataset.usd, e.innerText])"),
        )  # fmt: skip

    report = reports[name][1]
    values, flavors, fleets = chromium.visit(look)
    assert len(values) >= 7
    for path, text in values:
        assert agrees(text, at(report, path)), path
    assert len(flavors) == 5 * len(report["flavors"]) > 0
    for flavor, key, text in flavors:
        assert agrees(text, report["flavors"][flavor][key]), (flavor, key)
    expected = {fleet["name"]: fleet["usd"] for fleet in report["alternatives"]["fleets"]}
    assert {fleet for fleet, _ in fleets} == {*expected, "this run"}
    for fleet, text in fleets:
        assert agrees(text, expected.get(fleet, report["alternatives"]["training_usd"])), fleet


def at(report: dict[str, Any], path: str) -> Any:
    value: Any = report
    for key in path.split("."):
        value = value[key]
    return value


def agrees(text: str, value: float | None) -> bool:
    """Returns whether a shown number is the value, to the digits that are shown."""
    if value is None:
        return text in ("not known", "–")
    digits = re.sub(r"[^\d.-]", "", text)
    decimals = len(digits.partition(".")[2])
    return abs(float(digits) - value) <= 0.5001 * 10**-decimals


def test_a_decision_is_opened_with_its_evidence(chromium: Browser, reports: Made) -> None:
    async def look(page: Page) -> tuple[str, str]:
        await opened(page, reports["moved_run"][0])
        await page.value(CHOOSE_MOVES)
        await page.until("document.querySelectorAll('#decisions details details').length === 2")
        await page.value("document.querySelector('#decisions details details').open = true")
        await page.until("document.querySelectorAll('#decisions details table').length === 2")
        return (await page.value("document.getElementById('decisions').dataset.ready"),
                await page.value("document.querySelector('#decisions details').innerText"))  # fmt: skip

    count, text = chromium.visit(look)
    journal = Journal(reports["moved_run"][0].parent)
    decisions = list(journal.decisions())
    move = next(decision for decision in decisions if decision.verdict.value == "move")
    assert int(count) == len(decisions)
    assert reason_in_words(move.reason) in text
    for estimate in move.flavors:
        assert estimate.flavor in text
        assert estimate.tokens_per_s is not None
        assert f"{float(f'{estimate.tokens_per_s:.4g}'):,.10g}" in text


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(chromium: Browser, reports: Made, width: int) -> None:
    async def look(page: Page) -> tuple[int, float]:
        await opened(page, reports["moved_run"][0], width=width, height=800)
        letters = ("Math.min(...[...document.querySelectorAll('figure svg text')].map(t => "
                   "t.getBoundingClientRect().height).filter(h => h > 0))")  # fmt: skip
        return await page.value("document.documentElement.scrollWidth"), await page.value(letters)

    shown, smallest_letters = chromium.visit(look)
    assert shown <= width
    assert smallest_letters >= 9, "letters in plots are too small to read"


def test_dark_is_dark_and_light_is_light(chromium: Browser, reports: Made) -> None:
    async def look(page: Page, dark: bool) -> list[int]:
        await opened(page, reports["moved_run"][0], dark=dark)
        colours = [await page.value(f"getComputedStyle(document.{where}).{what}") for where, what in (
            ("body", "backgroundColor"), ("querySelector('figure .wide svg text')", "fill"))]  # fmt: skip
        return [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]

    light_ground, light_ink = chromium.visit(lambda page: look(page, False))
    dark_ground, dark_ink = chromium.visit(lambda page: look(page, True))
    assert light_ground > 600
    assert light_ink < 400
    assert dark_ground < 150
    assert dark_ink > 400


def test_it_prints(chromium: Browser, reports: Made) -> None:
    async def look(page: Page) -> tuple[bytes, str]:
        await opened(page, reports["moved_run"][0], dark=True, media="print")
        return await page.pdf(), await page.value("getComputedStyle(document.body).backgroundColor")

    pdf, ground = chromium.visit(look)
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    assert ground == "rgb(255, 255, 255)"


def test_the_answer_comes_first_and_its_numbers_are_those_of_report_json(chromium: Browser, reports: Made) -> None:
    async def look(page: Page) -> list[str]:
        answers = []
        for name in ("moved_run", "moveless_run"):
            await opened(page, reports[name][0])
            assert await page.value("document.querySelector('main, section, .banner').id") == "answer"
            answers.append(await page.value("document.querySelector('.answer').innerText.replace(/\\s+/g, ' ')"))
        return answers

    moved, moveless = chromium.visit(look)
    costs = {fleet["name"]: fleet["usd"] for fleet in reports["moved_run"][1]["alternatives"]["fleets"]}
    first, own = costs.pop("first fleet"), reports["moved_run"][1]["alternatives"]["training_usd"]
    for usd in (own, first, first - own, min(costs.values()), max(costs.values())):
        assert in_dollars(usd) in moved
    assert "were saved" in moved
    assert "on the first fleet, 3 x c5.large, which was kept" in moveless
    assert "saved" not in moveless


def test_two_runs_are_compared(chromium: Browser, tmp_path: Path) -> None:
    journals = [synthetic.moveless_run(tmp_path / "one"), synthetic.moved_run(tmp_path / "two")]
    made = [(journal, make_report(journal, PRICES, BEGAN + 2000)) for journal in journals]
    file = write_comparison(made)

    async def look(page: Page) -> tuple[list[str], list[list[str]], int]:
        await page.open(file)
        rows = await page.value("[...document.querySelectorAll('[data-path]')].map(e => "
                                "[e.dataset.path, ...[...e.cells].slice(1, 3).map(c => c.innerText)])")  # fmt: skip
        return page.errors, rows, await page.value("document.querySelectorAll('figure .wide svg').length")

    errors, rows, plots = chromium.visit(look)
    assert errors == []
    assert plots == 3
    assert len(rows) == 13
    for path, *texts in rows:
        for text, (_, report) in zip(texts, made, strict=True):
            assert agrees(text, at(report, path)), path
