"""What the metadata service answers for an instance, as a tree of paths.

Paths and answers: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from localcloud.link.spec import HostSpec, RoleSession, SpotNotice

Tree = dict[str, "str | Tree"]


def find(tree: Tree, path: str, lists: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """Returns the answer to a path: a value, or the list of a folder's entries; None if there is no such path.

    In a list, the names of folders end in `/`.

    Args:
        tree: everything that the service answers.
        path: what is asked for.
        lists: the lists of folders that have a form of their own, by the folders' paths.
    """
    node: str | Tree = tree
    asked = path.strip("/")
    if asked in lists:
        return lists[asked]
    for part in asked.split("/") if asked else []:
        if not isinstance(node, dict) or part not in node:
            return None
        node = node[part]
    if isinstance(node, str):
        return node
    return "\n".join(name + ("/" if isinstance(value, dict) else "") for name, value in node.items())


def special_lists(spec: HostSpec) -> dict[str, str]:
    """Returns the list of the public keys: each with its number and its name. cloud-init takes no other form."""
    return {"meta-data/public-keys": f"0={spec.key_name or 'key'}"} if spec.public_key else {}


def document_tree(spec: HostSpec) -> Tree:
    """Returns everything that the service answers for an instance under `/latest/`."""
    tree: Tree = {
        "dynamic": {"instance-identity": {"document": _identity_document(spec)}},
        "meta-data": _meta_data(spec),
    }
    if spec.user_data:
        tree["user-data"] = spec.user_data
    return tree


def _meta_data(spec: HostSpec) -> Tree:
    meta: Tree = {
        "ami-id": spec.image_id,
        "hostname": spec.hostname,
        "instance-id": spec.instance_id,
        "instance-life-cycle": "spot" if spec.spot else "on-demand",
        "instance-type": spec.flavor,
        "local-hostname": spec.hostname,
        "local-ipv4": spec.address,
        "placement": {"availability-zone": spec.availability_zone, "region": spec.region},
        "services": {"domain": "amazonaws.com", "partition": "aws"},
    }
    if spec.public_address:
        meta["public-ipv4"] = spec.public_address
    if spec.public_key:
        meta["public-keys"] = {"0": {"openssh-key": spec.public_key.strip()}}
    if spec.tags_in_metadata:
        meta["tags"] = {"instance": {**spec.tags}}
    if spec.role:
        meta["iam"] = {"security-credentials": {spec.role.name: _credentials(spec.role)}}
    if spec.spot_notice:
        meta["spot"] = _spot(spec.spot_notice)
    if spec.rebalance_at:
        recommendation = json.dumps({"noticeTime": spec.rebalance_at})
        meta["events"] = {"recommendations": {"rebalance": recommendation}}
    return meta


def _spot(notice: SpotNotice) -> Tree:
    action = {"instance-action": json.dumps({"action": notice.action, "time": notice.time})}
    return {**action, "termination-time": notice.time} if notice.action == "terminate" else {**action}


def _credentials(role: RoleSession) -> str:
    return json.dumps(
        {
            "Code": "Success",
            "LastUpdated": role.last_updated,
            "Type": "AWS-HMAC",
            "AccessKeyId": role.access_key_id,
            "SecretAccessKey": role.secret_access_key,
            "Token": role.session_token,
            "Expiration": role.expiration,
        },
        indent=2,
    )


def _identity_document(spec: HostSpec) -> str:
    return json.dumps(
        {
            "accountId": spec.account,
            "architecture": "x86_64",
            "availabilityZone": spec.availability_zone,
            "imageId": spec.image_id,
            "instanceId": spec.instance_id,
            "instanceType": spec.flavor,
            "privateIp": spec.address,
            "region": spec.region,
            "version": "2017-09-30",
        },
        indent=2,
    )
