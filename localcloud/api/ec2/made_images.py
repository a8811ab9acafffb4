"""Machine images that are made of stopped instances. The hosts' process makes them of the instances' volumes."""

from __future__ import annotations

import logging
from pathlib import Path

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.amis import Ami
from moto.ec2.models.instances import Instance

from localcloud.api.ec2.instances import INTERNAL_ERROR, Instances
from localcloud.api.ec2.states import STOPPED, TERMINATED, state_of
from localcloud.link.image import ImageFiles, ImageSpec

PENDING, AVAILABLE, FAILED = "pending", "available", "failed"
TAKEN_OVER = (
    "virtualization_type",
    "architecture",
    "hypervisor",
    "platform",
    "boot_mode",
    "root_device_type",
    "root_device_name",
)
"""What an image has from the image that its instance was launched from."""

log = logging.getLogger("localcloud.images")


class MadeImages:
    """The images that were made of instances. Every method is called with the API's lock held."""

    def __init__(self, instances: Instances, ec2: EC2Backend, state_dir: Path) -> None:
        self._instances = instances
        self._ec2 = ec2
        self._state_dir = state_dir
        self._made: dict[str, ImageSpec] = {}

    def check(self, instance: Instance) -> None:
        """Checks that an image can be made of an instance.

        Raises:
            EC2ClientError: the instance is not stopped.
        """
        state = state_of(instance)
        if state != STOPPED:
            raise EC2ClientError(
                "IncorrectInstanceState",
                f"The instance '{instance.id}' is {state}. localcloud makes images of stopped instances only; EC2 "
                "would reboot it. Stop it, and wait until it is stopped.",
            )

    def adopt(self, image: Ami, instance: Instance) -> None:
        """Tracks a new image, which is pending until the hosts' process has made it."""
        base = self._ec2.amis.get(instance.image_id)
        for name in TAKEN_OVER if base else ():
            setattr(image, name, getattr(base, name))
        image.state = PENDING
        self._made[image.id] = ImageSpec(image.id, instance.id, instance.image_id)
        log.info("%s: pending, of %s", image.id, instance.id)

    def tick(self) -> None:
        """Lets every image follow what the hosts' process has made of it."""
        for image_id in self._made:
            image = self._ec2.amis.get(image_id)
            if image is not None and image.state == PENDING:
                self._follow(image)

    def wanted(self) -> tuple[ImageSpec, ...]:
        """Returns the images that shall be there: those of the API, and those that others or instances are based on."""
        kept = {image_id for image_id in self._made if image_id in self._ec2.amis}
        kept |= {tracked.instance.image_id for tracked in self._instances if tracked.state != TERMINATED}
        for spec in reversed(list(self._made.values())):  # an image is newer than its base
            if spec.image_id in kept:
                kept.add(spec.base)
        return tuple(spec for spec in self._made.values() if spec.image_id in kept)

    def _follow(self, image: Ami) -> None:
        files = ImageFiles.of(self._state_dir, image.id)
        if files.snapshot.exists():
            image.state = AVAILABLE
        elif files.failed.exists():
            image.state = FAILED
            reason = {"Code": INTERNAL_ERROR, "Message": files.failed.read_text()}
            setattr(image, "state_reason", reason)  # noqa: B010 - moto's images have none
        if image.state != PENDING:
            log.info("%s: %s", image.id, image.state)
