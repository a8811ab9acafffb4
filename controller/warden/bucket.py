"""The cluster's bucket: it holds the lease, and takes what is uploaded."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from .clients import AWS_ERRORS, client, code_of
from .clock import moment
from .lease import LEASE_KEY, MOST_BYTES, LeaseError, parse_document, parse_lease
from .look import Look, Standing

NOT_THERE = ("NoSuchKey", "NoSuchBucket", "404")
CHANGED = ("PreconditionFailed", "412", "NoSuchKey", "404")
TRY_AGAIN = ("ConditionalRequestConflict", "409")
TRIES, BETWEEN_TRIES_S = 5, 0.5
WRITTEN = "written"
"""A field of the lease that differs in every write, so that no two writes have the same ETag. No reader needs it."""


class Claim(str, Enum):
    """What became of an attempt to write into the lease that a switch fires."""

    TAKEN = "taken"
    LOST = "lost"
    """Somebody has written the lease since it was read, or goes on writing it: it has an owner again."""
    FAILED = "failed"
    """The bucket does not let itself be written."""


class Bucket:
    """The bucket of one cluster."""

    def __init__(self, cluster: str, name: str, region: str, s3: Any = None) -> None:
        self.cluster, self.name = cluster, name
        self._s3 = client("s3", region) if s3 is None else s3

    def look(self) -> Look:
        """Reads the lease. Raises nothing: a bucket that does not answer is an answer, too."""
        try:
            answer = self._s3.get_object(Bucket=self.name, Key=LEASE_KEY)
            text = answer["Body"].read(MOST_BYTES + 1)
            headers = answer["ResponseMetadata"]["HTTPHeaders"]
            document = parse_document(text)
            lease = parse_lease(document, self.cluster)
            return Look(
                Standing.FOUND,
                lease,
                age_s=age_s(headers),
                step_age_s=None if lease.step_at is None else moment(headers["date"]).timestamp() - lease.step_at,
                etag=str(answer["ETag"]),
                document=document,
            )
        except LeaseError as error:
            return Look(Standing.UNREAD, problem=f"s3://{self.name}/{LEASE_KEY} cannot be understood: {error}")
        except AWS_ERRORS as error:
            if code_of(error) in NOT_THERE:
                return Look(Standing.MISSING)
            return Look(Standing.UNREAD, problem=f"s3://{self.name}/{LEASE_KEY} cannot be read: {error}")
        except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
            problem = f"s3://{self.name} answers what S3 does not: {type(error).__name__}: {error}"
            return Look(Standing.UNREAD, problem=problem)

    def claim(self, look: Look, by: str, why: str) -> tuple[Claim, str]:
        """Writes into the lease that a switch fires, unless somebody has written it since the look.

        Args:
            look: The look that the switch fires on.
            by: The switch: "head", "worker" or "reaper".
            why: The code of the reason.

        Returns:
            What became of it, and what the bucket said.
        """
        fired = {"by": by, "why": why, "at": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        body = json.dumps({**look.document, "fired": fired, WRITTEN: secrets.token_hex(16)}).encode()
        lease, said = look.lease, ""
        generation = 0 if lease is None else lease.generation
        for _ in range(TRIES):
            try:
                self._s3.put_object(
                    Bucket=self.name,
                    Key=LEASE_KEY,
                    Body=body,
                    IfMatch=look.etag,
                    Metadata={"generation": str(generation)},
                )
                return Claim.TAKEN, ""
            except AWS_ERRORS as error:
                said = str(error)
                if code_of(error) in CHANGED:
                    return Claim.LOST, said
                if code_of(error) not in TRY_AGAIN:
                    return Claim.FAILED, said
                time.sleep(BETWEEN_TRIES_S)
        return Claim.LOST, said

    def put(self, key: str, body: bytes) -> None:
        """Writes an object. Raises one of AWS_ERRORS."""
        self._s3.put_object(Bucket=self.name, Key=key, Body=body)

    def newest(self, prefix: str, most: int) -> list[str]:
        """Returns the keys of the newest objects under a prefix. Raises one of AWS_ERRORS, or KeyError."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        found = sorted((one for page in pages for one in page.get("Contents", [])), key=lambda one: one["LastModified"])
        return [one["Key"] for one in reversed(found[-most:])]

    def start_of(self, key: str, most_bytes: int) -> bytes:
        """Returns at most so many bytes of an object. Raises one of AWS_ERRORS."""
        return bytes(self._s3.get_object(Bucket=self.name, Key=key)["Body"].read(most_bytes))

    def newest_age_s(self, run: str) -> float | None:
        """Returns the age of the newest object that a run's training has written, by S3's own clock.

        What its controllers have written counts for nothing: a controller that crashes again and again writes, too.

        Returns:
            The age; None where there is no object.

        Raises:
            Exception: One of AWS_ERRORS.
        """
        ages: list[float] = []
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=f"{run}/"):
            date = moment(page["ResponseMetadata"]["HTTPHeaders"]["date"])
            found = [one for one in page.get("Contents", []) if not one["Key"].startswith(f"{run}/control/")]
            ages += [(date - one["LastModified"]).total_seconds() for one in found]
        return max(0.0, min(ages)) if ages else None


def age_s(headers: Mapping[str, str]) -> float:
    """Returns the seconds from an object's last change to the answer: both are told by S3. Raises ValueError."""
    try:
        answered, changed = (moment(headers[name]) for name in ("date", "last-modified"))
        return max(0.0, (answered - changed).total_seconds())
    except KeyError as error:
        raise ValueError(f"the answer has no dates: {error}") from error
