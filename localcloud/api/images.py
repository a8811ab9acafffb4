"""The machine images that moto does not list."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.amis import Ami

DEBIAN = "136693071363"
"""The account of Debian's cloud team."""
DEBIAN_12 = "debian-12-amd64-20251006-2257"
DEBIAN_12_ID = "ami-0deb12deb12deb12d"


def add_images(ec2: Any) -> None:
    """Adds Debian 12 to the images of a region, as Debian offers it on EC2."""
    ec2.amis[DEBIAN_12_ID] = Ami(
        ec2,
        ami_id=DEBIAN_12_ID,
        name=DEBIAN_12,
        description="Debian 12",
        owner_id=DEBIAN,
        public=True,
        virtualization_type="hvm",
        architecture="x86_64",
        creation_date="2025-10-06T22:57:00.000Z",
        image_location=f"amazon/{DEBIAN_12}",
        hypervisor="xen",
        root_device_type="ebs",
        root_device_name="/dev/xvda",
        boot_mode="uefi-preferred",
    )
