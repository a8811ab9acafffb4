"""Corrections of launch templates."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.launch_templates import LaunchTemplate

from localcloud.api.patches.replace import replace


def correct_launch_templates() -> None:
    """Keeps the tags of a template apart from those of its instances, and lets CreateTags change them."""
    create = EC2Backend.create_launch_template

    def create_launch_template(
        ec2: EC2Backend, name: str, description: str, data: dict[str, Any], tags: dict[str, Any]
    ) -> LaunchTemplate:
        kept = [entry for entry in data.get("TagSpecifications", []) if entry["ResourceType"] != "launch-template"]
        own = {key: value for key, value in data.items() if key != "TagSpecifications"}
        return create(ec2, name, description, {**own, "TagSpecifications": kept} if kept else own, tags)

    def ignore(template: LaunchTemplate, value: object) -> None:
        """Drops the copy of the tags that moto keeps at creation. The property reads the present tags instead."""

    replace(EC2Backend, "create_launch_template", create_launch_template)
    replace(LaunchTemplate, "tags", property(LaunchTemplate.get_tags, ignore))
