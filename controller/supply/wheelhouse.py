"""The wheelhouse of an environment's nodes: found in the bucket, or built and put there."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from controller.config.settings import WheelhouseSettings
from controller.edges.supplying.wheel_builder import Built
from controller.supply.ports import BuilderPort, BuildOnHead, StorePort
from controller.supply.provided import Stored, Wheelhouse

MADE_FOR = ("digest", "python", "machine", "glibc")
NAME_DIGITS = 12
UPLOAD_S = 3600.0
"""How long the head may upload its archive."""


def build_here(settings: WheelhouseSettings, builder: BuilderPort, tell: Callable[[str], None]) -> None:
    """Builds the wheelhouse here, where this machine fits the nodes, before anything costs. Raises SupplyError."""
    built = builder.describe(settings.python, settings.glibc)
    if built.manifest is not None:
        return
    if built.misfit:
        tell(f"the packages of the nodes will be built on the head, which takes some minutes more: {built.misfit}")
    else:
        tell("building the packages of the nodes, once (some minutes)")
        builder.build(settings.python, settings.glibc)


def provide_wheelhouse(
    settings: WheelhouseSettings,
    store: StorePort,
    bucket: str,
    builder: BuilderPort,
    build_on_head: BuildOnHead,
    tell: Callable[[str], None],
) -> Wheelhouse:
    """Returns the wheelhouse in the bucket, which is built and uploaded where it is missing.

    Raises:
        AwsError: The bucket can't be asked or written.
        SupplyError: It can't be built on this machine.
        AnsibleError: It can't be built on the head.
    """
    built = builder.describe(settings.python, settings.glibc)
    known = store.read(bucket, manifest_key(built.digest))
    if known is not None:
        return _provided(json.loads(known))
    if built.manifest is None and built.misfit:
        tell("building the packages of the nodes on the head, once (some minutes)")
        manifest = _from_head(store, bucket, builder, built.digest, build_on_head)
    else:
        manifest = _from_here(settings, store, bucket, builder, built)
    store.write(bucket, manifest_key(built.digest), json.dumps(manifest, indent=1).encode())
    return _provided(manifest)


def manifest_key(digest: str) -> str:
    """Returns the key of a wheelhouse's manifest, which is written last."""
    return f"wheelhouse/{digest}.json"


def archive_key(manifest: Mapping[str, Any]) -> str:
    """Returns the key of a wheelhouse's archive."""
    return f"wheelhouse/{manifest['digest']}/{manifest['sha256']}.tar"


def _from_here(
    settings: WheelhouseSettings, store: StorePort, bucket: str, builder: BuilderPort, built: Built
) -> Mapping[str, Any]:
    if built.manifest is None or built.archive is None:
        built = builder.build(settings.python, settings.glibc)
    assert built.manifest is not None and built.archive is not None
    store.upload(bucket, archive_key(built.manifest), built.archive)
    return built.manifest


def _from_head(
    store: StorePort, bucket: str, builder: BuilderPort, digest: str, build_on_head: BuildOnHead
) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder, f"{digest[:NAME_DIGITS]}.zip")
        builder.sources(sources)
        manifest = build_on_head(sources, "")
        return build_on_head(sources, store.url_to_write(bucket, archive_key(manifest), UPLOAD_S))


def _provided(manifest: Mapping[str, Any]) -> Wheelhouse:
    archive = Stored(archive_key(manifest), str(manifest["sha256"]), int(manifest["size"]))
    return Wheelhouse({name: str(manifest[name]) for name in MADE_FOR}, archive)
