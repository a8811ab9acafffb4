"""AWS, through boto3: the cluster's instances, scale-in protection, and what the Auto Scaling groups could not do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from controller.domain import Instance
from controller.domain.errors import AwsError
from controller.domain.reasons.moving import AwsFailed

AWS_ERRORS = (ClientError, BotoCoreError, ResponseParserError)
"""What a call of boto3 raises where AWS refuses, cannot be reached, or answers what botocore cannot read."""

CLUSTER_TAG, ROLE_TAG, FLAVOR_TAG = "centavo:cluster", "centavo:role", "centavo:flavor"
PROTECTABLE = ("InService", "EnteringStandby", "Standby")
"""The states in which EC2 changes an instance's protection; it refuses the whole call for one in another state."""
RUN_TAG, RANK_TAG = "centavo:run", "centavo:rank"
LIVING_STATES = ["pending", "running"]
STATE_LOOKS, STATE_LOOK_EVERY_S = 60, 5.0
"""An instance that stops or starts is looked at so often, after so long each time: five minutes."""
PROTECTION_BATCH = 50
"""As many instances as one SetInstanceProtection call takes (EC2 Auto Scaling API reference)."""

LAUNCHING = "Launching a new EC2 instance"
"""How EC2 Auto Scaling begins the description of a launch."""

CLOCK_CODES = ("RequestTimeTooSkewed", "RequestExpired")
CLOCK_WORDS = ("Signature expired", "Signature not yet current")
"""How S3, EC2 and the other services refuse a request whose time differs from theirs by more than 5 to 15 minutes."""
SET_THE_CLOCK = "The clock of this machine is off. Set it (on Linux: `sudo timedatectl set-ntp true`), and try again."
CHECK_ACCESS = "Check the credentials, and that the endpoint is up (on local: `python -m localcloud status`)."

Result = TypeVar("Result")


class Aws:
    """The parts of EC2 and Auto Scaling that the controller needs. Raises AwsError."""

    def __init__(self, region: str) -> None:
        self._ec2: Any = boto3.client("ec2", region_name=region, config=client_config())
        self._groups: Any = boto3.client("autoscaling", region_name=region, config=client_config())

    def instances(self, cluster: str) -> tuple[Instance, ...]:
        """Returns the cluster's instances that are pending or running, head included, in order of launch."""

        def call() -> list[Instance]:
            pages = self._ec2.get_paginator("describe_instances").paginate(
                Filters=[
                    {"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]},
                    {"Name": "instance-state-name", "Values": LIVING_STATES},
                ]
            )
            return [
                _instance(raw)
                for page in pages
                for reservation in page["Reservations"]
                for raw in reservation["Instances"]
            ]

        found = speak("list the cluster's instances", call)
        return tuple(sorted(found, key=lambda i: (i.launched_at or 0.0, i.instance_id)))

    def failures(self, group: str, since: float) -> tuple[str, ...]:
        """Returns why the group could not launch instances since a time (seconds since the epoch), newest first.

        What failed before a later launch does not count: a group of several zones tries another one by itself.
        """

        def call() -> list[dict[str, Any]]:
            answer = self._groups.describe_scaling_activities(AutoScalingGroupName=group, MaxRecords=20)
            return list(answer["Activities"])

        activities = speak(f"read what {group} did", call)
        later = [_seconds(one["StartTime"]) for one in activities if _is_launch(one) and not _has_failed(one)]
        counts_from = max([since, *later])
        return tuple(
            str(activity.get("StatusMessage") or activity.get("Cause") or activity["StatusCode"])
            for activity in activities
            if _has_failed(activity) and _seconds(activity["StartTime"]) >= counts_from
        )

    def desired(self, groups: Iterable[str]) -> dict[str, int]:
        """Returns the desired capacity of each Auto Scaling group that exists."""
        names = list(groups)

        def call() -> list[dict[str, Any]]:
            pages = self._groups.get_paginator("describe_auto_scaling_groups").paginate(AutoScalingGroupNames=names)
            return [group for page in pages for group in page["AutoScalingGroups"]]

        return {
            group["AutoScalingGroupName"]: int(group["DesiredCapacity"])
            for group in speak("read the Auto Scaling groups", call)
        }

    def empty(self, groups: Iterable[str]) -> None:
        """Lets each Auto Scaling group end all its instances whose protection is lifted."""
        for group in groups:
            speak(
                f"empty {group}",
                partial(self._groups.set_desired_capacity, AutoScalingGroupName=group, DesiredCapacity=0),
            )

    def end_instance(self, instance_id: str) -> None:
        """Ends an instance of a group, which launches another one in its place."""
        speak(
            f"end {instance_id}",
            partial(
                self._groups.terminate_instance_in_auto_scaling_group,
                InstanceId=instance_id,
                ShouldDecrementDesiredCapacity=False,
            ),
        )

    def reboot(self, instance_id: str) -> None:
        """Asks EC2 to reboot an instance."""
        speak(f"reboot {instance_id}", partial(self._ec2.reboot_instances, InstanceIds=[instance_id]))

    def start_stopped(self, instance_id: str, sleep: Callable[[float], None]) -> bool:
        """Starts an instance if it is stopped, as the dead man's switch leaves a head.

        EC2 does not start an instance that is still stopping, so this waits for its end. It also waits until the
        instance runs, since only then it has a public address again, which Terraform looks at.

        Args:
            instance_id: The instance.
            sleep: Lets seconds pass.

        Returns:
            Whether it was stopped.
        """

        def state() -> str:
            found = self._ec2.describe_instances(Filters=[{"Name": "instance-id", "Values": [instance_id]}])
            states = [one["State"]["Name"] for held in found["Reservations"] for one in held["Instances"]]
            return str(states[0]) if states else "terminated"

        def state_after(passing: str, then: str) -> str:
            for _ in range(STATE_LOOKS):
                found = speak(f"tell the state of {instance_id}", state)
                if found != passing:
                    return found
                sleep(STATE_LOOK_EVERY_S)
            raise AwsError(
                f"{instance_id} has been {passing} for {STATE_LOOKS * STATE_LOOK_EVERY_S:.0f} s.",
                f"Try again when EC2 shows it as {then}.",
            )

        if state_after("stopping", "stopped") != "stopped":
            return False
        speak(f"start {instance_id}", partial(self._ec2.start_instances, InstanceIds=[instance_id]))
        state_after("pending", "running")
        return True

    def label(self, resources: Sequence[str], tags: Mapping[str, str]) -> None:
        """Gives instances and volumes these tags; others stay."""
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        speak("label instances", lambda: self._ec2.create_tags(Resources=[*resources], Tags=pairs))

    def label_groups(self, groups: Iterable[str], tags: Mapping[str, str]) -> None:
        """Gives groups these tags, and all instances that they launch from now on."""
        pairs = [
            {
                "ResourceId": group,
                "ResourceType": "auto-scaling-group",
                "Key": key,
                "Value": value,
                "PropagateAtLaunch": True,
            }
            for group in groups
            for key, value in tags.items()
        ]
        speak("label the groups", lambda: self._groups.create_or_update_tags(Tags=pairs))

    def set_protection(self, group: str, instance_ids: Iterable[str], *, protected: bool) -> None:
        """Protects instances of a group from scale-in, or lifts the protection of these and of no others.

        Another one whose protection was lifted before is protected again first: it may train by now.

        Skips instances that have left the group, and those that are on their way into it or out of it: EC2 would refuse
        the call for all of them. The next call may find them in service.
        """

        def members() -> dict[str, bool]:
            answer = self._groups.describe_auto_scaling_groups(AutoScalingGroupNames=[group])
            instances = [instance for found in answer["AutoScalingGroups"] for instance in found["Instances"]]
            return {
                one["InstanceId"]: bool(one.get("ProtectedFromScaleIn"))
                for one in instances
                if one["LifecycleState"] in PROTECTABLE
            }

        is_protected = speak(f"read {group}", members)
        ids = [instance_id for instance_id in instance_ids if instance_id in is_protected]
        if not protected:
            self._protect(group, sorted(one for one in is_protected if not is_protected[one] and one not in ids), True)
        self._protect(group, ids, protected)

    def _protect(self, group: str, ids: Sequence[str], protected: bool) -> None:
        for start in range(0, len(ids), PROTECTION_BATCH):
            batch = ids[start : start + PROTECTION_BATCH]
            speak(
                f"change the scale-in protection of {', '.join(batch)}",
                partial(
                    self._groups.set_instance_protection,
                    AutoScalingGroupName=group,
                    InstanceIds=batch,
                    ProtectedFromScaleIn=protected,
                ),
            )


def client_config() -> Config:
    """Returns how patient a client is: a request ends within two minutes, all its tries included."""
    return Config(
        retries={"total_max_attempts": 5, "mode": "standard"}, connect_timeout=5, read_timeout=15, tcp_keepalive=True
    )


def speak(purpose: str, call: Callable[[], Result]) -> Result:
    """Returns what the call gives. Raises AwsError where it fails; `purpose` says what AWS did not do then."""
    try:
        return call()
    except AWS_ERRORS as error:
        raise AwsError(
            f"AWS did not {purpose}: {error}",
            SET_THE_CLOCK if _is_for_the_clock(error) else CHECK_ACCESS,
            reason=AwsFailed(purpose, str(error)),
        ) from error


def _is_for_the_clock(error: Exception) -> bool:
    """Returns whether AWS refused a request because of the time in its signature."""
    answered = error.response.get("Error", {}) if isinstance(error, ClientError) else {}
    said = str(answered.get("Message", ""))
    return answered.get("Code") in CLOCK_CODES or any(words in said for words in CLOCK_WORDS)


def _instance(raw: dict[str, Any]) -> Instance:
    tags = {tag["Key"]: tag["Value"] for tag in raw.get("Tags", [])}
    return Instance(
        instance_id=raw["InstanceId"],
        flavor=tags.get(FLAVOR_TAG) or raw["InstanceType"],
        role=tags.get(ROLE_TAG, "worker"),
        state=raw["State"]["Name"],
        private_ip=raw.get("PrivateIpAddress"),
        public_ip=raw.get("PublicIpAddress"),
        launched_at=_seconds(raw["LaunchTime"]),
        image_id=raw.get("ImageId"),
        volumes=tuple(one["Ebs"]["VolumeId"] for one in raw.get("BlockDeviceMappings", []) if "Ebs" in one),
        run=tags.get(RUN_TAG, ""),
        rank_name=tags.get(RANK_TAG, ""),
        zone=raw.get("Placement", {}).get("AvailabilityZone"),
        is_on_spot=raw.get("InstanceLifecycle") == "spot",
    )


def _has_failed(activity: Mapping[str, Any]) -> bool:
    return activity["StatusCode"] in ("Failed", "Cancelled")


def _is_launch(activity: Mapping[str, Any]) -> bool:
    return str(activity.get("Description", "")).startswith(LAUNCHING)


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
