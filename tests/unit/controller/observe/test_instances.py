"""What EC2 runs, what it could not launch, and what Terraform has made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain import Instance
from controller.domain.errors import AwsError, CentavoError, NodesError
from controller.edges.terraform import HeadOutput, Outputs
from controller.observe.instances import Instances
from controller.observe.made import Made
from tests.unit.controller.observe.test_reaching import HEAD, OUTPUTS

WORKER = Instance("i-1", "c5.large", "worker", "running", "10.0.0.2")


class Terraform:
    """Terraform's outputs, and how often they were read."""

    def __init__(self, outputs: Outputs | None = OUTPUTS) -> None:
        self.made, self.reads = outputs, 0

    def outputs(self) -> Outputs | None:
        self.reads += 1
        return self.made


class Aws:
    """What EC2 lists, and what it says of launches."""

    def __init__(self) -> None:
        self.listed: tuple[Instance, ...] = (HEAD, WORKER)
        self.said: dict[str, tuple[str, ...] | AwsError] = {}
        self.asked: list[tuple[str, float]] = []

    def instances(self, cluster: str) -> tuple[Instance, ...]:
        assert cluster == "a-cluster"
        return self.listed

    def failures(self, group: str, since: float) -> tuple[str, ...]:
        self.asked.append((group, since))
        said = self.said.get(group, ())
        if isinstance(said, AwsError):
            raise said
        return said


class Site:
    def __init__(self) -> None:
        flavors = {name: replace(made, autoscaling_group=f"group-{name}") for name, made in OUTPUTS.flavors.items()}
        self.terraform, self.aws = Terraform(replace(OUTPUTS, flavors=flavors)), Aws()
        self.made = Made(self.terraform, "test")
        self.instances = Instances(self.aws, self.made)


@pytest.fixture
def site() -> Site:
    return Site()


def test_workers_are_told_from_the_head_and_remembered(site: Site) -> None:
    assert site.instances.last_workers == site.instances.listed == ()
    assert site.instances.workers() == site.instances.last_workers == (WORKER,)
    site.aws.listed = (HEAD, replace(WORKER, state="pending"))
    assert site.instances.running() == []


def test_the_head_is_remembered_until_terraform_has_made_another_one(site: Site) -> None:
    assert site.instances.head() == HEAD
    site.aws.listed = ()
    assert site.instances.head() == HEAD, "it is not looked for again"
    site.terraform.made = replace(OUTPUTS, head=HeadOutput("i-other", "10.0.0.9", None, "t3.small"))
    site.made.forget()
    with pytest.raises(NodesError, match="i-other does not run"):
        site.instances.head()
    other = replace(HEAD, instance_id="i-other")
    site.aws.listed = (other,)
    assert site.instances.head() == other


def test_the_heads_state_is_as_last_listed(site: Site) -> None:
    assert site.instances.head_state() == "terminated"
    site.aws.listed = (replace(HEAD, state="stopping"),)
    site.instances.workers()
    assert site.instances.head_state() == "stopping"
    site.aws.listed = ()
    site.instances.workers()
    assert site.instances.head_state() == "terminated"


def test_of_each_flavor_the_first_failure_is_told_and_what_can_not_be_asked_is_left_out(site: Site) -> None:
    site.aws.said = {"group-t2.medium": ("no capacity", "an older one"), "group-c5.large": AwsError("no route")}
    assert site.instances.launch_failures(["c5.large", "t2.medium"], 5.0) == {"t2.medium": "no capacity"}
    assert site.aws.asked == [("group-c5.large", 5.0), ("group-t2.medium", 5.0)]
    site.aws.said = {}
    assert site.instances.launch_failures(["c5.large"], 5.0) == {}


def test_what_terraform_has_made_is_read_once_until_it_is_forgotten(site: Site) -> None:
    assert site.made.known is None
    assert site.made.outputs == site.made.outputs == site.made.known
    assert site.terraform.reads == 1
    site.made.forget()
    assert site.made.known is None and site.made.outputs and site.terraform.reads == 2


def test_an_environment_that_is_not_up_is_an_error_that_names_it() -> None:
    made = Made(Terraform(None), "test")
    assert not made.is_anything
    with pytest.raises(CentavoError, match="test is not up"):
        _ = made.outputs
