"""Images that moto does not know, and that environments name."""

from __future__ import annotations

from moto.ec2.models import EC2Backend
from moto.ec2.models.amis import Ami

DEBIAN = "136693071363"
DEBIAN_12 = {
    "ami-0debian12amd64001": "debian-12-amd64-20250814-2204",
    "ami-0debian12amd64002": "debian-12-amd64-20251006-2257",
    "ami-0debian12amd64003": "debian-12-amd64-20251112-2294",
}
"""Names of Debian's images by the ids that they have here. Every machine boots the same Debian 12."""


def register_images(ec2: EC2Backend) -> None:
    """Adds Debian 12's images to those that DescribeImages shows."""
    for image_id, name in DEBIAN_12.items():
        ec2.amis[image_id] = Ami(
            ec2,
            ami_id=image_id,
            name=name,
            description="Debian 12",
            owner_id=DEBIAN,
            public=True,
            virtualization_type="hvm",
            architecture="x86_64",
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name="/dev/xvda",
            image_location=f"{DEBIAN}/{name}",
        )
