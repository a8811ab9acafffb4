"""The names of run and ranks on what the cluster consists of, as tags that anybody can read.

    centavo:run     the run, on the Auto Scaling groups, and on all instances and their volumes
    centavo:rank    the rank that a worker is now, such as `centavo-RUN-3`, on the instance and its volumes; empty where
                    it was a rank and is none any more
    Name            the same name, once a worker has been a rank

A group hands `centavo:run` on to the instances that it launches, so that a node has it from its first moment. Their
volumes get it from the controller: no group hands a tag on to volumes, and EC2 shows them only some time later. A node
reads its own tags from the metadata service, without credentials (`instance_metadata_tags` in the launch templates;
the keys have no character that the service refuses).

Ranks change when nodes come and go. Each look of the controller lists the instances with their tags anyway, so the
tags cost a call only where a rank has changed, and at most `MOST_CALLS` a pass. They are as true as the controller's
last pass. Where no controller lives they stay as they are: then the names of the log streams, which the nodes
themselves give, are the ones to trust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from controller.domain import Instance, Observation
from controller.domain.observed.fact import TrainingState
from controller.edges.aws import RANK_TAG, RUN_TAG
from controller.observe.made import Made
from controller.shipping.streams import rank_name

NAME_TAG = "Name"
MOST_CALLS = 20
"""A pass of a large fleet is not to be held up. What is left is done by the next pass."""
MOST_RESOURCES = 500
"""As many resources as one CreateTags call is given; EC2 takes 1,000."""


class LabelsPort(Protocol):
    """The part of `edges.aws.Aws` that is used here. Every method raises AwsError."""

    def label(self, resources: Sequence[str], tags: Mapping[str, str]) -> None: ...

    def label_groups(self, groups: Iterable[str], tags: Mapping[str, str]) -> None: ...


@dataclass(frozen=True)
class Label:
    """Tags that some resources lack."""

    resources: tuple[str, ...]
    tags: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True)
class World:
    """The ranks that train.

    Attributes:
        ranks: By instance id the ranks that are known.
        size: How many there are; 0 where none is known.
    """

    ranks: Mapping[str, int] = field(hash=False)
    size: int


def labels_due(instances: Iterable[Instance], run: str, world: World, labelled: Set[str]) -> list[Label]:
    """Returns what is to be labelled, so that every instance has its run and its rank.

    A node whose rank is not known now keeps its label, unless the world has become too small for it, or the rank is
    known to be elsewhere: a fact that could not be read once is no reason to write.

    Args:
        instances: Those of the cluster, as EC2 lists them.
        run: The run's name.
        world: Who trains.
        labelled: What has been labelled already, the run's label first. The list of instances does not show the tags of
            volumes.
    """
    listed = list(instances)
    has_run = {one.instance_id for one in listed if one.run == run} | labelled
    strange = [it for one in listed for it in (one.instance_id, *one.volumes) if it not in has_run]
    batches = [tuple(strange[start : start + MOST_RESOURCES]) for start in range(0, len(strange), MOST_RESOURCES)]
    due = [Label(batch, {RUN_TAG: run}) for batch in batches]
    free = {rank_name(run, rank) for rank in range(world.size) if rank not in world.ranks.values()}
    for one in listed if world.size else ():
        rank = world.ranks.get(one.instance_id)
        kept = one.rank_name if one.rank_name in free else ""
        name = kept if rank is None else rank_name(run, rank)
        if one.rank_name != name:
            tags = {RANK_TAG: name, NAME_TAG: name} if name else {RANK_TAG: name}
            due.append(Label((one.instance_id, *one.volumes), tags))
    return due


def world_of(observation: Observation) -> World:
    """Returns who trains, as the ranks say themselves."""
    training = [fact for fact in observation.facts if fact.state is TrainingState.TRAINING]
    ranks = {fact.instance_id: fact.rank for fact in training if fact.rank is not None}
    return World(ranks, max((fact.world_size or 0 for fact in training), default=0))


class Labels:
    """Keeps the labels of one run true."""

    def __init__(self, aws: LabelsPort, made: Made, run: str, check_writer: Callable[[], None]) -> None:
        self._aws, self._made, self._run, self._check_writer = aws, made, run, check_writer
        self._has_labelled_groups = False
        self._labelled: set[str] = set()

    def keep_true(self, instances: Iterable[Instance], observation: Observation) -> None:
        """Writes the labels that differ from what was seen.

        Raises:
            AwsError: AWS did not take them. The next pass tries again.
            SupersededError: Another controller has taken over.
        """
        if not self._has_labelled_groups:
            self._check_writer()
            groups = [flavor.autoscaling_group for flavor in self._made.outputs.flavors.values()]
            self._aws.label_groups(groups, {RUN_TAG: self._run})
            self._has_labelled_groups = True
        for label in labels_due(instances, self._run, world_of(observation), self._labelled)[:MOST_CALLS]:
            self._check_writer()
            self._aws.label(label.resources, label.tags)
            self._labelled.update(label.resources)
