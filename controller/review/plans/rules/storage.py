"""Changes that destroy what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.edges.terraform_plan import Action, PlanChange
from controller.review.plans.dangers import Danger, Finding
from controller.review.plans.rules.attributes import turns

STORAGE: Mapping[str, str] = {
    "aws_s3_bucket": "a bucket with all that is in it",
    "aws_s3_object": "an object in a bucket",
    "aws_s3_bucket_object": "an object in a bucket",
    "aws_ebs_volume": "a volume",
    "aws_ebs_snapshot": "a snapshot",
    "aws_efs_file_system": "a file system",
    "aws_fsx_lustre_file_system": "a file system",
    "aws_fsx_openzfs_file_system": "a file system",
    "aws_dynamodb_table": "a table",
    "aws_db_instance": "a database",
    "aws_rds_cluster": "a database",
    "aws_ecr_repository": "a repository of images",
    "aws_backup_vault": "a vault of backups",
    "aws_kms_key": "a key, without which what it encrypted is lost",
    "aws_cloudwatch_log_group": "logs",
}


def storage(change: PlanChange) -> Iterator[Finding]:
    """Yields what a change would destroy, or let be destroyed later."""
    kind = STORAGE.get(change.type)
    if kind and change.action.destroys:
        verb = "replaced by an empty one" if change.action is Action.REPLACE else "destroyed"
        yield Finding(Danger.DESTROY_STORAGE, change.address, f"{kind} would be {verb}")
    if change.type == "aws_s3_bucket_versioning" and _stops_versioning(change):
        yield Finding(Danger.DESTROY_STORAGE, change.address, "old versions of objects would no longer be kept")
    if change.action is Action.UPDATE and turns(change, "force_destroy", to=True):
        yield Finding(Danger.DESTROY_STORAGE, change.address, "it could from then on be destroyed with its content")
    if change.type == "aws_s3_bucket_lifecycle_configuration" and change.action is Action.UPDATE:
        yield Finding(Danger.DESTROY_STORAGE, change.address, "the rules by which objects expire would change")


def _stops_versioning(change: PlanChange) -> bool:
    def is_on(side: Mapping[str, Any] | None) -> bool:
        blocks = (side or {}).get("versioning_configuration")
        return isinstance(blocks, list) and any(isinstance(b, Mapping) and b.get("status") == "Enabled" for b in blocks)

    return is_on(change.before) and not is_on(change.after)
