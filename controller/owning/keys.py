"""The names of the objects in the cluster's bucket that Centavo itself lives on."""

from __future__ import annotations

CONTROL = "control"
LEASE = f"{CONTROL}/lease.json"
ASKED = f"{CONTROL}/asked.json"
"""What a person asks of the controller, wherever it runs."""
RUNS = f"{CONTROL}/runs.json"
BOOT = f"{CONTROL}/boot.json"
"""The bundle by which nodes prepare themselves."""
TERRAFORM_STATE = f"{CONTROL}/state/terraform.tfstate"
CAPACITY = f"{CONTROL}/state/capacity.auto.tfvars.json"
CLUSTER_KEY = f"{CONTROL}/state/cluster_key.pub"
"""The public key that Terraform gave the nodes."""
PUBLIC_KEYS = f"{CONTROL}/keys/"
"""Where each node's warden finds whose SSH keys it lets in."""
HEAD_KEYS = f"{PUBLIC_KEYS}head."
"""Begins the keys of controllers on the head. A node lets one in while its run goes on."""
JOURNAL_NAME = "journal.sqlite.gz"


def is_own(key: str) -> bool:
    """Returns whether an object is Centavo's own, which a person need not keep: no checkpoint, result or log."""
    return CONTROL in key.split("/")[:2]


def of_run(run: str, name: str) -> str:
    """Returns the key of a file of a run."""
    return f"{run}/{CONTROL}/{name}"


def public_key(holder: str) -> str:
    """Returns the key of a holder's public key, which the nodes let in."""
    return f"{PUBLIC_KEYS}{holder}.pub"


def head_key(run: str) -> str:
    """Returns the key of the public key of a run's controller on the head."""
    return f"{HEAD_KEYS}{run}.pub"
