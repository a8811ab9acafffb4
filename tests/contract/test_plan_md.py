"""What Terraform writes as a plan's JSON, and what the review makes of it. Needs no provider: `terraform_data`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from controller.edges.terraform_plan import Action, Plan, parse_plan
from controller.review.plans.plan_summary import Evidence, summarize
from controller.review.shown.markdown import render

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs_tool("terraform"),
]

SECRET = "correct-horse-battery-staple"
MAIN = """
variable "secret" {
  type      = string
  sensitive = true
}
variable "size" { type = number }
variable "flavors" { type = set(string) }

resource "terraform_data" "secret" {
  input            = { password = var.secret, size = var.size }
  triggers_replace = var.size
}
resource "terraform_data" "flavor" {
  for_each = var.flavors
  input    = each.key
}
output "secret" {
  value     = var.secret
  sensitive = true
}
"""


class Directory:
    """A Terraform working directory without any provider."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "main.tf").write_text(MAIN)
        self.run("init", "-input=false")

    def run(self, *arguments: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
        done = subprocess.run(
            ["terraform", *arguments],
            cwd=self.path,
            env={**environment, "TF_IN_AUTOMATION": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def plan(self, size: int, flavors: list[str], secret: str = SECRET) -> Plan:
        values = {"secret": secret, "size": size, "flavors": flavors}
        (self.path / "terraform.tfvars.json").write_text(json.dumps(values))
        self.run("plan", "-input=false", "-out=plan.tfplan")
        document: Any = json.loads(self.run("show", "-json", "plan.tfplan"))
        return parse_plan(document)

    def apply(self) -> None:
        self.run("apply", "-input=false", "plan.tfplan")


def review(plan: Plan) -> str:
    return render(summarize("local", plan, {}, Evidence()))


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


def test_terraforms_own_plans_read_right_from_the_first_to_the_last(directory: Directory) -> None:
    first = directory.plan(1, ['a|"b"', "c"])
    assert [change.action for change in first.changed] == [Action.CREATE] * 3
    text = review(first)
    assert SECRET not in text and "3 to add" in text and "`secret`" in text
    assert review(directory.plan(1, ['a|"b"', "c"])) == text, "the same plan, planned twice, reads differently"
    directory.apply()

    nothing = directory.plan(1, ['a|"b"', "c"])
    assert nothing.is_empty and "**Nothing changes.**" in review(nothing)

    second = directory.plan(2, ["c", "d"])
    assert [(change.action, change.index) for change in second.changed] == [
        (Action.DESTROY, 'a|"b"'),
        (Action.REPLACE, None),
        (Action.CREATE, "d"),
    ]
    text = review(second)
    assert SECRET not in text and "1 to destroy, 1 to destroy and create again, 1 to add" in text
    assert "`triggers_replace` **(forces the replacement)** | `1` | `2` |" in text

    other = directory.plan(1, ['a|"b"', "c"], secret="another-secret-of-the-same-kind")
    text = review(other)
    assert "(sensitive, changed)" in text
    assert SECRET not in text and "another-secret" not in text
