"""EC2 and Auto Scaling of the world, as the controller's edge shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from controller.domain import Instance
from controller.domain.errors import AwsError
from tests.unit.controller.world.calls import Effect
from tests.unit.controller.world.node import Node
from tests.unit.controller.world.world import World

HEAD_ADDRESS = "127.20.0.10"


class WorldAws:
    """EC2 and Auto Scaling of the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.labels: dict[str, dict[str, str]] = {}
        """By instance or group the tags that it was given. They cost the world nothing, and nothing depends on them."""

    def instances(self, cluster: str) -> tuple[Instance, ...]:
        """Returns the instances that are pending or running, head included."""
        return self.world.call("instances", self._instances)  # type: ignore[no-any-return]

    def _instances(self) -> tuple[Instance, ...]:
        self.world.scale()
        head, image_id = self.world.head, self.world.image_id
        heads = [Instance(head.instance_id, "t3.small", "head", "running", HEAD_ADDRESS, image_id=image_id)]
        return (*([] if head.is_lost else heads), *(self._instance(node) for node in self.world.nodes))

    def _instance(self, node: Node) -> Instance:
        state = "running" if self.world.runs(node) else "pending"
        labels = self.labels.get(node.instance_id, {})
        return Instance(
            node.instance_id,
            node.flavor,
            "worker",
            state,
            node.address,
            None,
            node.launched_at,
            run=labels.get("centavo:run", ""),
            rank_name=labels.get("centavo:rank", ""),
        )

    def label(self, resources: Sequence[str], tags: Mapping[str, str]) -> None:
        """Notes the tags."""
        for resource in resources:
            self.labels.setdefault(resource, {}).update(tags)

    def label_groups(self, groups: Iterable[str], tags: Mapping[str, str]) -> None:
        """Notes the tags."""
        self.label([*groups], tags)

    def failures(self, group: str, since: float) -> tuple[str, ...]:
        """Returns why a group could not launch instances since a time, newest first."""
        found = self.world.activities.get(group.removeprefix("c-"), [])
        return self.world.call("failures", lambda: tuple(why for at, why in found if at >= since))  # type: ignore[no-any-return]

    def desired(self, groups: Iterable[str]) -> dict[str, int]:
        """Returns the desired capacity of each group."""
        return self.world.call(  # type: ignore[no-any-return]
            "desired", lambda: {group: self.world.desired.get(group.removeprefix("c-"), 0) for group in groups}
        )

    def empty(self, groups: Iterable[str]) -> None:
        """Sets the desired capacity of all groups to zero. Interrupted, it has done the first half of them."""
        flavors = [group.removeprefix("c-") for group in groups]
        half = flavors[: len(flavors) // 2]
        self.world.call(
            "empty",
            Effect(
                lambda: self.world.set_desired(dict.fromkeys(flavors, 0)),
                lambda: self.world.set_desired(dict.fromkeys(half, 0)),
            ),
        )

    def end_instance(self, instance_id: str) -> None:
        """Ends an instance of a group, protected or not. The group launches another one."""
        self.world.call("end", lambda: self.world.end(instance_id))

    def reboot(self, instance_id: str) -> None:
        """Reboots an instance."""
        self.world.call("reboot", lambda: self._reboot(instance_id))

    def _reboot(self, instance_id: str) -> None:
        if instance_id == self.world.head.instance_id:
            self.world.reboot_head()
        for node in self.world.nodes:
            if node.instance_id == instance_id:
                self.world.reboot(node)

    def set_protection(self, group: str, instance_ids: Iterable[str], *, protected: bool) -> None:
        """Protects instances from scale-in, or lifts the protection of these alone. Interrupted, it has done one."""
        ids = list(instance_ids)
        self.world.call(
            "protection", Effect(lambda: self._protect(ids, protected), lambda: self._protect(ids[:1], protected))
        )

    def _protect(self, instance_ids: list[str], protected: bool) -> None:
        nodes = [node for node in self.world.nodes if node.instance_id in instance_ids]
        early = [node.instance_id for node in nodes if not node.is_in_service]
        if early:
            raise AwsError(
                f"AWS did not change the scale-in protection: {', '.join(early)} is not in InService.", "Try again."
            )
        for node in nodes:
            node.is_protected = protected
        if not protected:
            for other in self.world.nodes:
                is_beside = other.flavor in {node.flavor for node in nodes} and other not in nodes
                other.is_protected = other.is_protected or (is_beside and other.is_in_service)
