"""The review as Markdown: golden files beside real plans, hostile plans, and a real GFM renderer."""

from __future__ import annotations

import html
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from controller.domain import FlavorEstimate, Fleet, FleetEstimate, Price
from controller.domain.prices.price import floor_name
from controller.edges.terraform_plan import parse_plan
from controller.review.plans.dangers import Danger
from controller.review.plans.plan_summary import Evidence, PlanSummary, Quantity, sides, summarize
from controller.review.shown.markdown import render
from controller.review.shown.markdown_text import GITHUB_LIMIT, characters, code, plain
from controller.review.shown.terminal import print_review
from controller.words import numbers as words
from tests.support.prices import LIST_PRICES

GOLDEN = Path(__file__).resolve().parents[4] / "golden" / "review"
PRICES = {
    flavor: Price(flavor, usd_per_hour, "file prices.yml")
    for flavor, usd_per_hour in {**LIST_PRICES, "t3.micro": 0.0104}.items()
}
MIXED = Fleet(dict.fromkeys(LIST_PRICES, 1))
MOVED = Fleet({"t2.medium": 1, "c5.large": 1, "c5.xlarge": 4})
MEASURED = Evidence(
    flavors={
        "c5.xlarge": FlavorEstimate("c5.xlarge", 0.17, 9033.0, 8800.0, 9270.0, 0.3, 0.0052, 214),
        "t2.large": FlavorEstimate("t2.large", 0.0928, 3010.0, 2900.0, 3120.0, 0.9, 0.0086, 200),
    },
    fleets={
        MIXED: FleetEstimate(MIXED, 0.5, 20_000.0, 0.9302, 0.0129, 7800.0, 2.01),
        MOVED: FleetEstimate(MOVED, 0.3, 34_000.0, 0.8218, 0.0067, 4590.0, 1.05),
    },
    run="20261121T060000Z",
    step=1480,
    total_steps=3000,
)
RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def summary(name: str, evidence: Evidence = MEASURED, **options: Any) -> PlanSummary:
    plan = parse_plan(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))
    return summarize("local", plan, PRICES, evidence, **options)


def rendered(text: str) -> str:
    return RENDERER.render(text)


def cells(markdown: str) -> list[list[str]]:
    """Every table row of the rendered page, as the plain text of its cells."""
    rows = re.findall(r"<tr>(.*?)</tr>", rendered(markdown), re.DOTALL)
    return [
        [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in rows
    ]


def test_what_costs_the_same_whatever_the_fleet_is_stands_in_a_table_of_its_own() -> None:
    extras = {"nat-gateway": 0.045, "nat-gateway-gb": 0.045, "public-ipv4": 0.005, "gp3-gb-month": 0.073}
    prices = {**PRICES, **{name: Price(name, usd) for name, usd in extras.items()}}
    plan = with_network(json.loads((GOLDEN / "nothing.json").read_text(encoding="utf-8")))
    shown = summarize("local", parse_plan(plan), prices, MEASURED)
    markdown = render(shown)
    rows = cells(markdown)
    start = rows.index(["What", "$/hour"])
    assert rows[start + 1 : start + 6] == [
        ["head, t3.micro", "$0.0104"],
        ["volume of the head, 30 GB", "$0.00300"],
        ["NAT gateways: 1", "$0.0450"],
        ["public IPv4 addresses: 2", "$0.0100"],
        ["each GB through a NAT gateway", "$0.0450 a GB"],
    ]
    workers = sum(PRICES[flavor].usd_per_hour for flavor in MIXED.present)
    assert shown.usd_per_hour.after == pytest.approx(workers + 0.0104 + 0.003 + 0.045 + 0.01)
    console = Console(width=120, record=True, file=io.StringIO())
    print_review(shown, console)
    assert "NAT gateways: 1" in console.export_text()
    del prices["nat-gateway"]
    unknown = summarize("local", parse_plan(plan), prices, MEASURED)
    assert unknown.uncounted == ("nat-gateway",)
    assert "Not counted, because there is no price: `nat-gateway`." in render(unknown)


def test_traffic_between_zones_is_shown_where_workers_are_in_several() -> None:
    plan = json.loads((GOLDEN / "move.json").read_text(encoding="utf-8"))
    one = summarize("local", parse_plan(plan), PRICES, MEASURED)
    plan["output_changes"]["network"] = {"actions": ["no-op"], "after": {"worker_zones": ["a", "b"]}}
    fleets = {MIXED: replace(MEASURED.fleets[MIXED], traffic_usd_per_hour=0.25)}
    fleets |= {MOVED: replace(MEASURED.fleets[MOVED], traffic_usd_per_hour=0.75)}
    shown = summarize("local", parse_plan(plan), PRICES, replace(MEASURED, fleets=fleets))
    assert one.usd_per_hour.before is not None and one.usd_per_hour.after is not None
    assert shown.usd_per_hour.before == pytest.approx(one.usd_per_hour.before + 0.25)
    assert shown.usd_per_hour.after == pytest.approx(one.usd_per_hour.after + 0.75)
    rows = cells(render(shown))
    assert ["each GB from zone to zone", "$0.0200 a GB"] in rows
    assert any(row[:3] == ["Of these, traffic between zones", "$0.2500", "$0.7500"] for row in rows)
    console = Console(width=160, record=True, file=io.StringIO())
    print_review(shown, console)
    assert "of these, traffic between zones" in console.export_text()
    assert "zone" not in render(one)


def test_the_first_nodes_of_a_spot_flavor_are_priced_as_they_are_bought_where_that_is_on_demand() -> None:
    plan = json.loads((GOLDEN / "move.json").read_text(encoding="utf-8"))
    policy = [{"instances_distribution": [{"on_demand_base_capacity": 2}]}]
    for change in plan["resource_changes"]:
        if change["type"] == "aws_autoscaling_group" and "c5.xlarge" in change["address"]:
            for side in ("before", "after"):
                change["change"][side]["mixed_instances_policy"] = policy
    prices = {**PRICES, floor_name("c5.xlarge"): Price("c5.xlarge", PRICES["c5.xlarge"].usd_per_hour + 1)}
    bare = summarize("local", parse_plan(plan), PRICES, MEASURED)
    shown = summarize("local", parse_plan(plan), prices, MEASURED, max_usd_per_hour=2.5)
    assert bare.usd_per_hour.before is not None and bare.usd_per_hour.after is not None
    assert shown.usd_per_hour.before == pytest.approx(bare.usd_per_hour.before + 1), "one node ran"
    assert shown.usd_per_hour.after == pytest.approx(bare.usd_per_hour.after + 2), "two of the four are on demand"
    assert shown.verdict.is_refused, "the limit on workers counts them, too"
    assert "file prices.yml; on demand: 2, $1.17 each" in render(shown)
    console = Console(width=160, record=True, file=io.StringIO())
    print_review(shown, console)
    assert "on demand: 2, $1.17 each" in console.export_text()


def with_network(document: dict[str, Any]) -> dict[str, Any]:
    """A plan with a NAT gateway and its address, and a head that has a public address and a volume of 30 GB."""
    for change in document["resource_changes"]:
        if change["type"] == "aws_instance":
            for side in ("before", "after"):
                change["change"][side] |= {
                    "associate_public_ip_address": True,
                    "root_block_device": [{"volume_size": 30}],
                }
    for kind in ("aws_nat_gateway", "aws_eip"):
        same = {"actions": ["no-op"], "before": {"id": kind}, "after": {"id": kind}}
        document["resource_changes"].append({"address": f"{kind}.one", "type": kind, "change": same})
    return document


@pytest.mark.parametrize("name", ["nothing", "move", "flavor", "bucket"])
def test_a_real_plan_reads_as_it_always_has(name: str) -> None:
    """UPDATE_GOLDEN=1 writes the files anew; look at the difference before you commit it."""
    text, file = render(summary(name)), GOLDEN / f"{name}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_the_same_plan_reads_the_same_twice() -> None:
    assert render(summary("bucket")) == render(summary("bucket"))


def test_nothing_to_do_is_said_plainly_and_first() -> None:
    text = render(summary("nothing"))
    assert "**Nothing changes.**" in text.split("\n\n")[1]
    assert "### Resources" not in text


def test_costs_and_times_lead_and_carry_their_difference() -> None:
    rows = cells(render(summary("move")))
    assert rows[1] == ["Dollars per million tokens, head included", "$0.0129", "$0.00670", "−$0.00620 (−48.1%)"]
    assert rows[2] == ["Time to finish", "2 h 10 min", "1 h 16 min", "−54 min (−41.2%)"]
    assert rows[3] == ["Dollars per hour, all included", "$0.9302", "$0.8218", "−$0.1084 (−11.7%)"]


@given(*[st.floats(1e-6, 1e5)] * 2)
def test_a_reader_who_subtracts_finds_the_same_difference(before: float, after: float) -> None:
    def number(text: str) -> float:
        return float(text.partition(" (")[0].replace("$", "").replace("−", "-").replace(",", ""))

    shown = sides(Quantity(before, after), words.USD)
    difference = 0.0 if shown[2] == "none" else number(shown[2])
    # What is left is the rounding of the difference itself, which shows cents from a dollar on.
    allowed = 0.005 if abs(difference) >= 1 else abs(difference) / 100 + 1e-9
    assert difference == pytest.approx(number(shown[1]) - number(shown[0]), abs=allowed + 1e-9)


def test_costs_are_unknown_while_the_head_has_no_price() -> None:
    plan = parse_plan(json.loads((GOLDEN / "move.json").read_text(encoding="utf-8")))
    prices = {flavor: price for flavor, price in PRICES.items() if flavor != "t3.micro"}
    rows = cells(render(summarize("local", plan, prices, MEASURED)))
    assert rows[1][1:] == ["not measured yet", "not measured yet", "unknown"]
    assert rows[2][1:3] == ["2 h 10 min", "1 h 16 min"]


def test_a_capacity_is_told_in_its_own_line_and_a_tag_once() -> None:
    text = render(summary("move"))
    assert "`desired_capacity`: `1` → `4` |" in text and "<details>" not in text
    tags = ({"tags": {"Name": name}, "tags_all": {"Name": name}, "size": size} for name, size in (("a", 1), ("b", 2)))
    text = shown(resource("aws_x.y", *tags, ["update"]))
    assert "| `tags.Name` | `a` | `b` |" in text and "tags_all" not in text


def test_what_was_not_measured_is_said_to_be_so_and_never_zero() -> None:
    rows = cells(render(summary("move", Evidence())))
    assert rows[1] == ["Dollars per million tokens, head included", *["not measured yet"] * 2, "unknown"]
    assert rows[2][1:] == ["not measured yet", "not measured yet", "unknown"]


def test_a_flavor_shows_capacity_price_speed_interval_observations_and_source() -> None:
    rows = {row[0]: row for row in cells(render(summary("move"))) if len(row) == 7}
    assert rows["c5.xlarge"] == [
        "c5.xlarge",
        "1 → 4",
        "$0.1700",
        "9,033 (8,800 to 9,270)",
        "214",
        "$0.00520",
        "file prices.yml",
    ]
    assert rows["c5.2xlarge"][1:] == [
        "1 → 0",
        "$0.3400",
        "not measured yet",
        "–",
        "not measured yet",
        "file prices.yml",
    ]


def test_a_flavor_without_a_price_makes_the_cost_unknown_and_is_named() -> None:
    rows = cells(render(summary("flavor")))
    assert rows[3] == ["Dollars per hour, all included", "$0.9302", "no price for c6i.xlarge", "unknown"]


def test_a_destroyed_bucket_comes_first_and_is_marked_and_refused() -> None:
    text = render(summary("bucket"))
    resources = [row for row in cells(text) if "aws_" in "".join(row[1:2])]
    assert resources[0][0] == "🛑\u00a0replace" and resources[0][1].endswith("aws_s3_bucket.this")
    assert "⛔" in text.split("\n\n")[1] and "--acknowledge destroy-storage" in text


def test_an_acknowledged_plan_says_what_was_acknowledged() -> None:
    text = render(summary("bucket", acknowledged=frozenset({Danger.DESTROY_STORAGE, Danger.CHANGE_IAM})))
    assert "⛔" not in text and "✅ Acknowledged: `destroy-storage`, `change-iam`" in text


def resource(address: str, before: Any, after: Any, actions: list[str], **more: Any) -> dict[str, Any]:
    change = {"actions": actions, "before": before, "after": after, **more}
    return {"address": address, "type": address.split(".")[0], "name": "x", "mode": "managed", "change": change}


def shown(*resources: dict[str, Any]) -> str:
    plan = parse_plan({"format_version": "1.2", "resource_changes": list(resources)})
    return render(summarize("local", plan, PRICES, Evidence()))


@pytest.mark.parametrize(
    ("before_marks", "after_marks"),
    [({"password": True}, {}), ({}, {"password": True}), ({"nested": [{"key": True}]}, {}), ({}, {"nested": True})],
)
def test_a_sensitive_value_is_never_shown(before_marks: dict[str, Any], after_marks: dict[str, Any]) -> None:
    values = {"password": "hunter2", "nested": [{"key": "hunter2"}]}
    hidden = {name: value for name, value in values.items() if name in {**before_marks, **after_marks}}
    text = shown(
        resource(
            "aws_db_instance.x",
            hidden,
            {**hidden, "size": 2},
            ["update"],
            before_sensitive=before_marks,
            after_sensitive=after_marks,
        )
    )
    assert "hunter2" not in text


def test_that_a_sensitive_value_changes_is_told_without_the_value() -> None:
    text = shown(
        resource(
            "aws_db_instance.x",
            {"password": "hunter2"},
            {"password": "hunter3"},
            ["update"],
            before_sensitive={"password": True},
            after_sensitive={"password": True},
        )
    )
    assert "`password`: `(sensitive)` → `(sensitive, changed)`" in text and "hunter" not in text


def test_sensitive_outputs_and_variables_are_not_shown() -> None:
    plan = parse_plan(
        {
            "format_version": "1.2",
            "resource_changes": [],
            "variables": {"token": {"value": "hunter2"}},
            "output_changes": {"token": {"actions": ["create"], "after": "hunter2", "after_sensitive": True}},
        }
    )
    text = render(summarize("local", plan, PRICES, Evidence()))
    assert "Only outputs change" in text and "`token`" in text and "hunter2" not in text


HOSTILE = 'a|b`c` <b>x</b> [l](http://e) **bold** @octocat #1 \\| ~~s~~ "q" &amp; \n| new | row |\n# title'


def test_a_hostile_name_stays_in_its_cell() -> None:
    text = shown(
        resource(f'aws_x.y["{HOSTILE}"]', {"name": "a"}, {"name": HOSTILE}, ["update"]),
        resource("aws_x.z", {"name": HOSTILE}, None, ["delete"]),
    )
    page = rendered(text)
    assert all(len(row) in (2, 3, 4) for row in cells(text)), "a table was torn"
    addresses = [row[1] for row in cells(text) if row[0] == "change"]
    assert addresses == [f'aws_x.y["{HOSTILE}"]'.replace("\n", "↵")]
    inside = page[page.index("Resources") :]
    assert "<b>" not in inside and "<a href" not in inside and "<h1>" not in inside and "<del>" not in inside


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
def test_any_text_is_itself_in_a_code_span_in_a_table(text: str) -> None:
    table = f"| a | b |\n| - | - |\n| {code(text)} | x |\n"
    assert cells(table)[1][0].strip() == " ".join(text.splitlines()).strip() or cells(table)[1][0] == text


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
def test_any_text_in_a_sentence_is_neither_markup_nor_a_mention(text: str) -> None:
    table = f"| a |\n| - |\n| x {plain(text)} x |\n"
    (cell,) = cells(table)[1]
    shown, meant = (each.replace("\u200b", "").split() for each in (cell, f"x {text} x"))
    assert shown == meant
    assert not re.search(r"@\w", cell)


@pytest.mark.parametrize("count", [1, 25, 26, 400, 5000])
def test_a_plan_of_any_size_fits_github_and_says_what_it_left_out(count: int) -> None:
    text = shown(
        *[
            resource(
                f'aws_s3_bucket.b["{"n" * 150}{number}"]',
                {"bucket": "b" * 300, "n": number},
                {"bucket": "c" * 300, "n": number + 1},
                ["delete", "create"] if number == count - 1 else ["update"],
            )
            for number in range(count)
        ]
    )
    assert characters(text) <= GITHUB_LIMIT
    assert text.index("🛑") < text.index("| change |") if count > 1 else "🛑" in text
    assert ("<details><summary>1 to destroy" in text) == (count > 25)
    listed = len([row for row in cells(text) if row[0] in ("change", "🛑\u00a0replace")])
    left_out = re.search(r"… and ([\d,]+) resources? more", text)
    assert listed + (int(left_out[1].replace(",", "")) if left_out else 0) == count


def test_every_fold_that_opens_is_closed() -> None:
    for name in ("move", "flavor", "bucket", "nothing"):
        text = render(summary(name))
        assert text.count("<details>") == text.count("</details>")


def test_emoji_count_as_github_counts_them() -> None:
    assert characters("a🛑") == 3


def test_the_golden_plans_hold_no_more_than_they_need() -> None:
    for file in GOLDEN.glob("*.json"):
        assert file.stat().st_size < 60_000 and "prior_state" not in json.loads(file.read_text())
