"""CreateImage of instances whose hosts have volumes."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.amis import Ami

from localcloud.api.ec2.made_images import MadeImages
from localcloud.api.patches.replace import replace

SNAPSHOT = "snapshot"


def patch_images(images: MadeImages) -> None:
    """Lets `images` make an image of what the instance's host has written."""
    create = EC2Backend.create_image

    def create_image(
        ec2: EC2Backend, instance_id: str, name: str, description: str, tag_specifications: list[dict[str, Any]]
    ) -> Ami:
        instance = ec2.get_instance(instance_id)
        images.check(instance)
        of_image = [one for one in tag_specifications if one["ResourceType"] != SNAPSHOT]
        image = create(ec2, instance_id, name, description, of_image)
        for one in tag_specifications:
            if one["ResourceType"] == SNAPSHOT:  # moto refuses them
                image.ebs_snapshot.add_tags({tag["Key"]: tag["Value"] for tag in one["Tags"]})
        images.adopt(image, instance)
        return image

    replace(EC2Backend, "create_image", create_image)
