"""Proposals, against a real git remote (a bare repository) and a stand-in for GitHub's API."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from controller.domain import Decision, FlavorEstimate, Fleet, FleetEstimate, Verdict
from controller.domain.reasons import Said
from controller.edges.git import Git
from controller.edges.github import GitHub, GitHubError, open_github
from controller.review.proposing.approval import PullRequestApproval
from controller.review.proposing.proposal import Proposal, ProposalError
from controller.review.proposing.proposal_mark import read_mark
from controller.review.proposing.proposal_text import proposal_of
from controller.review.proposing.proposals import ProposalOutcome, Proposals
from tests.support.github import REPOSITORY, FakeGitHub

CAPACITY = "terraform/environments/local/capacity.auto.tfvars.json"
BRANCH = "centavo/local/capacity"
NOW, CHEAP, FAST = Fleet({"t2.medium": 6}), Fleet({"c5.large": 6}), Fleet({"c5.xlarge": 4})
DECISION = Decision(
    at=0.0,
    policy="cheapest-fleet",
    verdict=Verdict.MOVE,
    current=NOW,
    target=CHEAP,
    reason=Said("c5.large costs half per token"),
    flavors=(
        FlavorEstimate("c5.large", 0.085, 9000.0, 8800.0, 9200.0, 0.3, 0.0026, 214),
        FlavorEstimate("c5.xlarge", 0.17, None),
    ),
    fleets=(
        FleetEstimate(NOW, 1.0, 900.0, 0.28, 0.0086, 7200.0, 0.56),
        FleetEstimate(CHEAP, 0.5, 1800.0, 0.51, 0.0079, 3600.0, 0.51),
    ),
    saving_usd=0.05,
    switching_usd=0.01,
)
PROPOSAL = Proposal("20261121T060000Z", NOW, CHEAP, "Move local to 6 x c5.large", "Because it is cheaper.")


def run(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def proposals(checkout: Path, github: FakeGitHub) -> Proposals:
    client = open_github("", github.environ)
    assert client is not None
    return Proposals("local", checkout / CAPACITY, Git(checkout), client, base=None)


def capacity_on(github: FakeGitHub, branch: str) -> dict[str, int]:
    document: dict[str, dict[str, int]] = json.loads(github.git("show", f"{branch}:{CAPACITY}"))
    return document["capacity"]


def commit_as_a_person(github: FakeGitHub, checkout: Path, branch: str, path: str, content: str) -> None:
    """A person's commit on a branch of the remote, from another checkout."""
    other = checkout.parent / f"other-{branch.replace('/', '-')}"
    run(checkout.parent, "clone", "-q", "--branch", branch, str(github.remote), str(other))
    (other / path).parent.mkdir(parents=True, exist_ok=True)
    (other / path).write_text(content)
    run(other, "add", "-f", path)
    run(other, "commit", "-q", "-m", "By hand")
    run(other, "push", "-q")


def test_a_proposal_is_one_commit_on_a_branch_and_one_pull_request(
    proposals: Proposals, github: FakeGitHub, checkout: Path
) -> None:
    before = run(checkout, "status", "--porcelain", "--branch")
    proposed = proposals.propose(PROPOSAL)
    assert (proposed.outcome, proposed.base) == (ProposalOutcome.OPENED, "main")
    assert capacity_on(github, BRANCH) == {"c5.large": 6, "t2.medium": 0}
    assert github.git("diff", "--name-only", f"main..{BRANCH}") == CAPACITY
    assert github.git("rev-list", "--count", f"main..{BRANCH}") == "1"
    (pull,) = github.open
    assert (pull["title"], pull["base"]["ref"]) == (PROPOSAL.title, "main")
    mark = read_mark(pull["body"])
    assert mark is not None and (mark.run, mark.target, mark.withdrawn) == (PROPOSAL.run, CHEAP, False)
    assert run(checkout, "status", "--porcelain", "--branch") == before, "the person's checkout was touched"


def test_proposing_the_same_again_changes_nothing(proposals: Proposals, github: FakeGitHub) -> None:
    proposals.propose(PROPOSAL)
    head, asked = github.git("rev-parse", BRANCH), len(github.requests)
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.UNCHANGED
    assert github.git("rev-parse", BRANCH) == head
    assert all(request.startswith("GET") for request in github.requests[asked:])


def test_another_target_updates_the_same_pull_request_and_says_so(proposals: Proposals, github: FakeGitHub) -> None:
    proposals.propose(PROPOSAL)
    proposed = proposals.propose(replace(PROPOSAL, target=FAST, title="Move local to 4 x c5.xlarge"))
    assert proposed.outcome is ProposalOutcome.UPDATED
    assert [pull["title"] for pull in github.pulls] == ["Move local to 4 x c5.xlarge"]
    assert capacity_on(github, BRANCH) == {"c5.xlarge": 4, "t2.medium": 0}
    assert github.comments == [(1, "This now proposes 4 x c5.xlarge in place of 6 x c5.large.")]


def test_a_base_that_has_moved_on_is_the_new_parent(proposals: Proposals, github: FakeGitHub, checkout: Path) -> None:
    proposals.propose(PROPOSAL)
    commit_as_a_person(github, checkout, "main", "README.md", "more\n")
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.UPDATED
    assert github.git("rev-parse", f"{BRANCH}^") == github.git("rev-parse", "main")


def test_an_outdated_proposal_is_closed_with_the_reason(proposals: Proposals, github: FakeGitHub) -> None:
    proposals.propose(PROPOSAL)
    withdrawn = proposals.withdraw("the price of c5.large has doubled")
    assert withdrawn is not None and not withdrawn.is_open and not github.open
    assert github.comments == [(1, "Outdated, so Centavo closes this: the price of c5.large has doubled")]
    assert BRANCH not in github.git("branch", "--list")
    assert proposals.withdraw("again") is None
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.OPENED, "Centavo may propose again what it closed"


def test_what_a_person_closed_is_not_proposed_again_by_the_same_run(proposals: Proposals, github: FakeGitHub) -> None:
    proposals.propose(PROPOSAL)
    github.pulls[0]["state"] = "closed"
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.REJECTED
    assert proposals.propose(replace(PROPOSAL, target=FAST)).outcome is ProposalOutcome.OPENED
    github.pulls[1]["state"] = "closed"
    later = replace(PROPOSAL, run="20261122T060000Z", target=FAST)
    assert proposals.propose(later).outcome is ProposalOutcome.OPENED


def test_a_persons_commit_on_the_branch_is_never_overwritten(
    proposals: Proposals, github: FakeGitHub, checkout: Path
) -> None:
    proposals.propose(PROPOSAL)
    commit_as_a_person(github, checkout, BRANCH, CAPACITY, '{"capacity": {"c5.large": 5}}\n')
    head = github.git("rev-parse", BRANCH)
    for attempt in (lambda: proposals.propose(replace(PROPOSAL, target=FAST)), lambda: proposals.withdraw("no saving")):
        with pytest.raises(ProposalError, match="holds work that is not Centavo's"):
            attempt()
    assert github.git("rev-parse", BRANCH) == head and len(github.open) == 1


def test_a_base_that_asks_for_another_fleet_than_the_one_that_runs_stops_a_proposal(
    proposals: Proposals, github: FakeGitHub, checkout: Path
) -> None:
    commit_as_a_person(github, checkout, "main", CAPACITY, '{"capacity": {"c5.2xlarge": 2}}\n')
    with pytest.raises(ProposalError, match=r"main asks for 2 x c5\.2xlarge, and 6 x t2\.medium runs"):
        proposals.propose(PROPOSAL)
    assert not github.pulls


def test_of_two_runs_the_newer_one_has_the_proposal_and_the_older_one_stands_back(
    proposals: Proposals, github: FakeGitHub
) -> None:
    newer = replace(PROPOSAL, run="20261121T070000Z", target=FAST)
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.OPENED
    assert proposals.propose(newer).outcome is ProposalOutcome.UPDATED
    head = github.git("rev-parse", BRANCH)
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.SUPERSEDED
    assert github.git("rev-parse", BRANCH) == head and len(github.open) == 1


def test_two_controllers_at_the_same_moment_do_not_overwrite_each_other(
    proposals: Proposals, github: FakeGitHub, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one pushes between the look and the push; the lease notices."""
    original = Git.commit_file

    def slow(git: Git, base: str, path: str, content: bytes, message: str) -> str:
        commit = original(git, base, path, content, message)
        github.git("update-ref", f"refs/heads/{BRANCH}", "main")
        return commit

    monkeypatch.setattr(Git, "commit_file", slow)
    with pytest.raises(ProposalError, match="was changed by someone else meanwhile"):
        proposals.propose(PROPOSAL)
    assert github.git("rev-parse", BRANCH) == github.git("rev-parse", "main") and not github.pulls


def test_a_pull_request_that_someone_else_opened_a_moment_ago_is_updated(
    proposals: Proposals, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = GitHub.create

    def late(client: GitHub, branch: str, base: str, title: str, body: str) -> object:
        create(client, branch, base, "the other one", "")
        return create(client, branch, base, title, body)

    monkeypatch.setattr(GitHub, "create", late)
    assert proposals.propose(PROPOSAL).outcome is ProposalOutcome.UPDATED
    assert [pull["title"] for pull in github.open] == [PROPOSAL.title]


@pytest.mark.parametrize("way", ["merge", "squash"])
def test_a_merge_is_noticed_with_the_fleet_that_was_merged(proposals: Proposals, github: FakeGitHub, way: str) -> None:
    proposals.propose(PROPOSAL)
    assert proposals.merged(PROPOSAL.run) is None
    getattr(github, way)(1)
    assert proposals.merged(PROPOSAL.run) == CHEAP
    assert proposals.merged("20261122T060000Z") is None, "another run's proposal is not this one's"


def test_without_github_the_branch_is_pushed_and_its_merge_is_seen_in_git(checkout: Path, github: FakeGitHub) -> None:
    alone = Proposals("local", checkout / CAPACITY, Git(checkout), None, base="main")
    assert alone.propose(PROPOSAL).outcome is ProposalOutcome.PUSHED
    assert capacity_on(github, BRANCH)["c5.large"] == 6
    assert alone.merged(PROPOSAL.run) is None
    github.git("update-ref", "refs/heads/main", BRANCH)
    assert alone.merged(PROPOSAL.run) == CHEAP


class TestApproval:
    """`optimize --via pull-request`, pass by pass."""

    @pytest.fixture
    def told(self) -> list[str]:
        return []

    @pytest.fixture
    def approval(self, proposals: Proposals, told: list[str]) -> PullRequestApproval:
        return PullRequestApproval("local", PROPOSAL.run, proposals, told.append)

    def test_a_move_waits_for_the_merge_and_then_goes_on(
        self, approval: PullRequestApproval, github: FakeGitHub, told: list[str]
    ) -> None:
        assert approval(DECISION) is None
        assert approval(DECISION) is None
        assert told == [
            f"proposed in https://github.example/{REPOSITORY}/pull/1; it waits for a merge",
            f"the proposal https://github.example/{REPOSITORY}/pull/1 waits for a merge",
        ]
        github.merge(1)
        assert approval(DECISION) == CHEAP
        arrived = replace(
            DECISION, verdict=Verdict.STAY, current=CHEAP, target=CHEAP, reason=Said("nothing is cheaper")
        )
        assert approval(arrived) is None
        assert len(github.pulls) == 1

    def test_a_merged_fleet_goes_before_a_newer_wish(self, approval: PullRequestApproval, github: FakeGitHub) -> None:
        approval(DECISION)
        github.merge(1)
        assert approval(replace(DECISION, target=FAST)) == CHEAP

    def test_a_wish_that_is_gone_closes_the_proposal(
        self, approval: PullRequestApproval, github: FakeGitHub, told: list[str]
    ) -> None:
        approval(DECISION)
        stay = replace(
            DECISION, verdict=Verdict.STAY, target=NOW, reason=Said("the saving does not pay for the switch")
        )
        assert approval(stay) is None
        assert not github.open and "the saving does not pay for the switch" in github.comments[0][1]
        assert told[-1].startswith("closed the proposal")

    def test_what_is_still_proposed_when_the_training_ends_is_closed(
        self, approval: PullRequestApproval, github: FakeGitHub
    ) -> None:
        approval(DECISION)
        approval.end()
        assert not github.open and github.comments[-1][1].endswith("the training has ended")

    def test_when_github_is_down_the_training_goes_on_and_it_is_tried_again(
        self, approval: PullRequestApproval, github: FakeGitHub, told: list[str]
    ) -> None:
        github.fail_with = 502
        assert approval(DECISION) is None
        assert "GitHub refused GET" in told[0] and "502" in told[0]
        github.fail_with = None
        approval(DECISION)
        assert len(github.open) == 1


def test_the_body_leads_with_the_saving_and_holds_the_evidence() -> None:
    proposal = proposal_of("local", PROPOSAL.run, DECISION)
    body = proposal.body
    assert proposal.title == "Move local to 6 x c5.large"
    assert "**Expected saving on the remaining work: $0.0500**" in body
    assert "| **Dollars per million tokens, head included** | $0.00860 | $0.00790 | −$0.000700 (−8.1%) |" in body
    assert "| **Time to finish** | 2 h 00 min | 1 h 00 min | −1 h 00 min (−50.0%) |" in body
    assert 'x-axis ["now", "proposed"]' in body and "bar [0.008600, 0.007900]" in body
    assert "| `c5.large` | $0.0850 | 9,000 (8,800 to 9,200) | 214 | $0.00260 |  |" in body
    assert "| `c5.xlarge` | $0.1700 | not measured yet | – | not measured yet |  |" in body
    assert body == proposal_of("local", PROPOSAL.run, DECISION).body


def test_a_policy_that_compares_flavors_gets_a_plot_of_flavors() -> None:
    flavors = (*DECISION.flavors, FlavorEstimate("t2.medium", 0.05, 900.0, usd_per_million_tokens=0.0154))
    body = proposal_of("local", "r", replace(DECISION, fleets=(), flavors=flavors)).body
    assert 'x-axis ["c5.large", "t2.medium"]' in body and "bar [0.002600, 0.015400]" in body
    assert "xychart" not in proposal_of("local", "r", replace(DECISION, fleets=())).body, "one bar compares nothing"


def test_a_body_about_a_thousand_flavors_still_fits_github() -> None:
    many = tuple(
        FlavorEstimate(f"x{number}.24xlarge", 1.0, 100.0, 90.0, 110.0, notes=(Said("n" * 300),))
        for number in range(1000)
    )
    body = proposal_of("local", "r", replace(DECISION, flavors=many)).body
    assert len(body) < 65_536 and "more." in body


@pytest.mark.parametrize(
    ("status", "step"), [(401, "another in GITHUB_TOKEN"), (403, "pull-requests: write"), (404, "GITHUB_REPOSITORY")]
)
def test_a_refusal_says_what_to_do_and_never_shows_the_token(github: FakeGitHub, status: int, step: str) -> None:
    github.fail_with = status
    client = open_github("", github.environ)
    assert client is not None
    with pytest.raises(GitHubError) as error:
        client.pull_requests(BRANCH)
    assert step in error.value.next_step and github.environ["GITHUB_TOKEN"] not in str(error.value)
