# ruff: noqa: N803
"""Stand-ins for tests of the warden: a bucket whose clock is the test's, an EC2 of lists, and leases."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError

BEGIN = datetime(2026, 11, 23, tzinfo=timezone.utc)
CLUSTER = "unit"


def document(**entries: Any) -> dict[str, Any]:
    """Returns a lease as a controller writes it."""
    return {
        "version": 1,
        "cluster": CLUSTER,
        "environment": "local",
        "run": "run-1",
        "generation": 1,
        "holder": {"id": "1", "host": "laptop", "user": "ada", "pid": 1, "command": "centavo", "place": "machine"},
        "taken_at": "2026-11-23T00:00:00Z",
        "lasts_s": 900.0,
        "released": False,
        "stage": "training",
        "ended_at": None,
        "step": 7,
        "step_at": None,
        "switch": {
            "lease_s": 900,
            "ended_s": 1800,
            "stalled_s": 7200,
            "worker_s": 3600,
            "reaper_s": 7200,
            "head": "stop",
        },
        "fired": None,
        **entries,
    }


def refused(code: str, operation: str = "Call") -> ClientError:
    """Returns AWS's refusal."""
    return ClientError({"Error": {"Code": code, "Message": code}}, operation)


class S3:
    """A bucket. `now_s` is its own clock; `is_there` is whether it can be reached."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, float, str]] = {}
        self.now_s, self.is_there, self.may_write, self.conflicts = 0.0, True, True, 0
        self._written = 0

    def write(self, key: str, body: bytes) -> None:
        self._written += 1
        self.objects[key] = (body, self.now_s, f'"{self._written}"')

    def lease(self, **entries: Any) -> None:
        self.write("control/lease.json", json.dumps(document(**entries)).encode())

    def read_lease(self) -> dict[str, Any]:
        return dict(json.loads(self.objects["control/lease.json"][0]))

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:
        self._check()
        if Key not in self.objects:
            raise refused("NoSuchKey", "GetObject")
        body, at, etag = self.objects[Key]
        dates = {"date": self._date(self.now_s), "last-modified": self._date(at)}
        return {"Body": io.BytesIO(body), "ETag": etag, "ResponseMetadata": {"HTTPHeaders": dates}}

    def put_object(self, Bucket: str, Key: str, Body: bytes, IfMatch: str | None = None, **_: Any) -> None:
        self._check()
        if not self.may_write:
            raise refused("AccessDenied", "PutObject")
        if self.conflicts:
            self.conflicts -= 1
            raise refused("ConditionalRequestConflict", "PutObject")
        if IfMatch is not None and (Key not in self.objects or self.objects[Key][2] != IfMatch):
            raise refused("PreconditionFailed", "PutObject")
        self.write(Key, Body)

    def get_paginator(self, operation: str) -> S3:
        assert operation == "list_objects_v2"
        return self

    def paginate(self, Bucket: str, Prefix: str) -> list[dict[str, Any]]:
        self._check()
        found = [
            {"Key": key, "LastModified": BEGIN + timedelta(seconds=at)}
            for key, (_, at, _) in self.objects.items()
            if key.startswith(Prefix)
        ]
        return [{"Contents": found, "ResponseMetadata": {"HTTPHeaders": {"date": self._date(self.now_s)}}}]

    def _check(self) -> None:
        if not self.is_there:
            raise EndpointConnectionError(endpoint_url="https://s3")

    def _date(self, seconds: float) -> str:
        return format_datetime(BEGIN + timedelta(seconds=round(seconds)), usegmt=True)


class Pages:
    """A paginator of one page."""

    def __init__(self, page: dict[str, Any]) -> None:
        self._page = page

    def paginate(self, **_: Any) -> list[dict[str, Any]]:
        return [self._page]


class AutoScaling:
    """Auto Scaling groups. A scale-in ends unprotected instances at once."""

    def __init__(self, **groups: int) -> None:
        self.desired = dict(groups)
        self.members = {name: [f"i-{name}-{n}" for n in range(nodes)] for name, nodes in groups.items()}
        self.protected = {one for members in self.members.values() for one in members}
        self.starting: set[str] = set()
        self.failing: set[str] = set()
        self.outside: set[str] = set()
        """The instances that are not in service."""
        self.calls: list[str] = []

    def get_paginator(self, operation: str) -> Pages:
        self._call(operation)
        return Pages({"AutoScalingGroups": [self._described(name) for name in self.desired]})

    def set_desired_capacity(self, AutoScalingGroupName: str, DesiredCapacity: int) -> None:
        self._call("set_desired_capacity")
        self.desired[AutoScalingGroupName] = DesiredCapacity
        self._scale_in()

    def set_instance_protection(
        self, AutoScalingGroupName: str, InstanceIds: list[str], ProtectedFromScaleIn: bool
    ) -> None:
        self._call("set_instance_protection")
        if self.starting & {*InstanceIds}:
            raise refused("ValidationError", "SetInstanceProtection")
        self.protected -= {*InstanceIds}
        self._scale_in()

    def terminate_instance_in_auto_scaling_group(self, InstanceId: str, ShouldDecrementDesiredCapacity: bool) -> None:
        self._call("terminate_instance_in_auto_scaling_group")
        assert ShouldDecrementDesiredCapacity
        for name, members in self.members.items():
            if InstanceId in members:
                members.remove(InstanceId)
                self.desired[name] -= 1
                return
        raise refused("ValidationError", "TerminateInstanceInAutoScalingGroup")

    @property
    def running(self) -> list[str]:
        return [one for members in self.members.values() for one in members]

    def _call(self, operation: str) -> None:
        if operation in self.failing:
            raise refused("AccessDenied", operation)
        self.calls.append(operation)

    def _scale_in(self) -> None:
        for name, members in self.members.items():
            surplus = [one for one in members if one not in self.protected][: max(0, len(members) - self.desired[name])]
            self.members[name] = [one for one in members if one not in surplus]

    def _described(self, name: str) -> dict[str, Any]:
        members = [
            {
                "InstanceId": one,
                "ProtectedFromScaleIn": one in self.protected,
                "LifecycleState": "Pending" if one in self.outside else "InService",
            }
            for one in self.members[name]
        ]
        tags = [{"Key": "centavo:cluster", "Value": CLUSTER}]
        return {
            "AutoScalingGroupName": name, "DesiredCapacity": self.desired[name], "Instances": members, "Tags": tags,
        }  # fmt: skip


class Ec2:
    """What happens to single instances."""

    def __init__(self) -> None:
        self.stopped: list[str] = []
        self.terminated: list[str] = []
        self.fails = False

    def stop_instances(self, InstanceIds: list[str]) -> None:
        self._check()
        self.stopped += InstanceIds

    def terminate_instances(self, InstanceIds: list[str]) -> None:
        self._check()
        self.terminated += InstanceIds

    def _check(self) -> None:
        if self.fails:
            raise refused("UnauthorizedOperation")
