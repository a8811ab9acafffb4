"""A training on nodes with CPU credits, on localcloud: what it decides, and its bill beside what was metered."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from sandbox import edit_yaml, make_sandbox

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1800)]

INITIAL = {"t2.medium": 2, "c5.large": 1}
PRICES = {"t2.medium": 0.464, "c5.large": 0.85, "t3.micro": 0.104}
"""Ten times those of AWS, so that minutes cost cents."""


def test_a_training_leaves_nodes_whose_credits_run_out_and_its_bill_is_what_was_metered(
    tmp_path: Path, stack: ExitStack
) -> None:
    """With credits a token is cheapest on t2.medium, and at its baseline, 20 %, on c5.large."""
    sandbox = make_sandbox(
        tmp_path / "centavo",
        stack,
        initial=INITIAL,
        steps=900,
        speeds={"t2.medium": 0.25, "c5.large": 0.2},
        cloud={
            "credits": {"t2.medium": {"launch": 1.5, "per_hour": 24}},
            "credit_metrics_s": 1.0,
            "least_charged_s": 0.0,
        },
        prices=PRICES,
    )
    others = ["t2.large", "t2.xlarge", "c5.xlarge", "c5.2xlarge"]
    edit_yaml(sandbox.environment / "centavo.yml", lambda it: it["limits"].update(exclude=others))
    assert sandbox.centavo("optimize", timeout_s=1600).returncode == 0
    report = sandbox.report
    assert report["status"] == "finished"
    assert {f: n for f, n in report["fleet"]["final"].items() if n} == {"c5.large": 3}
    full, baseline = 0.25, 0.05
    assert report["flavors"]["t2.medium"]["tokens_per_s"] == pytest.approx(
        report["flavors"]["c5.large"]["tokens_per_s"] * baseline / 0.2, rel=0.5
    ), f"{full} of a core is what t2.medium has with credits"
    moved = re.search(r"Moves were decided in ([\d, ]+):", sandbox.centavo("explain").stdout)
    assert moved
    told = sandbox.centavo("explain", moved[1].split(", ")[-1], "--json").stdout
    assert any(f'"{code}"' in told for code in ("credits-spent", "credits-last", "judged-by-baseline"))

    metered = {what: line["usd"] for what, line in sandbox.control("bill")["lines"].items()}
    bill = report["cost"]["bill"]
    assert sum(bill.values()) == pytest.approx(report["cost"]["spent_usd"], abs=1e-4)
    for flavor in INITIAL:
        assert bill[flavor] == pytest.approx(metered[f"{flavor} (on-demand)"], abs=0.01), flavor
