"""What the head needs before a controller can run there: its packages, Terraform and its providers, in the bucket.

    wheelhouse/DIGEST.json, wheelhouse/DIGEST/SHA256.tar            the packages, as those of all nodes lie there
    control/tools/DIGEST.json, control/tools/DIGEST/SHA256.tar.gz   Terraform and its providers; the manifest is last

A head whose image has all of this (`nodes.wheelhouse` is not set) gets none of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from controller.config.settings import WheelhouseSettings
from controller.domain.errors import ConfigError, SupplyError
from controller.edges.supplying.terraform_tools import Packed, Tools
from controller.owning.keys import CONTROL
from controller.supply.ports import BuilderPort, StorePort
from controller.supply.provided import Stored, Wheelhouse
from controller.supply.wheelhouse import provide_wheelhouse

MACHINE = "x86_64"
"""The processor of heads with a wheelhouse (requirements/wheelhouse.py)."""


class ToolsPort(Protocol):
    """The part of `edges.supplying.terraform_tools.TerraformTools` that is used here."""

    def misfit(self, machine: str) -> str: ...

    def find(self) -> Tools: ...

    def pack(self, tools: Tools) -> Packed: ...


@dataclass(frozen=True)
class Provided:
    """What the head gets, in the bucket."""

    packages: Wheelhouse
    tools: Stored
    digest: str
    """The tools'. They lie on the head under it."""


@dataclass(frozen=True)
class Kit:
    """The kit of one environment's head. `settings` is None where the head has everything already."""

    settings: WheelhouseSettings | None
    store: StorePort
    wheels: BuilderPort
    tools: ToolsPort
    tell: Callable[[str], None]

    def make_ready(self) -> None:
        """Does what can be done before anything costs money: checks Terraform, and gets the packages.

        Raises:
            ConfigError: The head can't run the Terraform of this machine.
            SupplyError: The packages can't be had.
        """
        if self.settings is None:
            return
        if reason := self.tools.misfit(MACHINE):
            raise ConfigError(
                f"A controller on the head can't use Terraform: {reason}.",
                "Run without `--detach`, or start the run on Linux with an x86_64 processor and HashiCorp's own "
                "program `terraform` on the PATH.",
            )
        python, glibc = self.settings.python, self.settings.glibc
        if self.wheels.describe(python, glibc).manifest is None:
            self.tell("getting the packages of a controller for the head, once (about a minute)")
            self.wheels.build(python, glibc)

    def provide(self, bucket: str) -> Provided | None:
        """Puts into the bucket what the head needs and the bucket lacks. Returns what there is.

        Raises:
            AwsError: The bucket can't be asked or written.
            SupplyError: The packages can't be had, or Terraform or a provider is missing.
        """
        if self.settings is None:
            return None
        packages = provide_wheelhouse(self.settings, self.store, bucket, self.wheels, _never, self.tell)
        tools = self.tools.find()
        return Provided(packages, self._provide_tools(bucket, tools), tools.digest)

    def _provide_tools(self, bucket: str, tools: Tools) -> Stored:
        manifest = f"{CONTROL}/tools/{tools.digest}.json"
        known = self.store.read(bucket, manifest)
        if known is not None:
            return Stored(**json.loads(known))
        self.tell("uploading Terraform and its provider for the head, once (some 200 MB)")
        packed = self.tools.pack(tools)
        stored = Stored(f"{CONTROL}/tools/{tools.digest}/{packed.sha256}.tar.gz", packed.sha256, packed.size)
        self.store.upload(bucket, stored.key, packed.path)
        self.store.write(bucket, manifest, json.dumps(asdict(stored), indent=1).encode())
        return stored


def variables_of_kit(provided: Provided | None, url_of: Callable[[str], str]) -> dict[str, Any]:
    """Returns the variables `packages` and `tools` of the role `controller`. `url_of` signs a URL for a key."""
    if provided is None:
        return {"packages": None, "tools": None}

    def fetched(stored: Stored) -> dict[str, Any]:
        return {"url": url_of(stored.key), "sha256": stored.sha256, "size": stored.size}

    return {
        "packages": {"made_for": dict(provided.packages.made_for), **fetched(provided.packages.archive)},
        "tools": {"digest": provided.digest, "machine": MACHINE, **fetched(provided.tools)},
    }


def _never(sources: Path, url: str) -> Mapping[str, Any]:
    raise SupplyError("The packages of a controller are never built on the head.")
