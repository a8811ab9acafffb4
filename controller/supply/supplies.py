"""Supplying the nodes of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.domain.errors import ConfigError, SupplyError
from controller.observe.made import Made
from controller.supply.corpus import corpus_paths, provide_corpus
from controller.supply.ports import BuilderPort, BuildOnHead, StorePort
from controller.supply.prepared import prepared_folder, provide_prepared
from controller.supply.provided import Provided, Stored, keep, kept
from controller.supply.wheelhouse import build_here, provide_wheelhouse

MARGIN_S = 600.0
"""So much longer than a playbook may take, its presigned URLs stay valid."""


class Supplies:
    """What the nodes of one run are supplied with. A run stays with what it was supplied with first."""

    def __init__(
        self,
        environment: Environment,
        made: Made,
        run_directory: Path,
        store: StorePort,
        builder: BuilderPort,
        tell: Callable[[str], None],
    ) -> None:
        self._environment, self._made, self._run_directory = environment, made, run_directory
        self._store, self._builder, self._tell = store, builder, tell

    def make_ready(self) -> None:
        """Does what can be done before anything costs money: checks the corpus, and builds the wheelhouse here.

        Raises:
            ConfigError: A file of the corpus is missing.
            SupplyError: The wheelhouse can't be built.
        """
        if kept(self._run_directory) is not None:
            return
        check_corpus(self._environment)
        settings = self._environment.settings.nodes.wheelhouse
        if settings is not None:
            build_here(settings, self._builder, self._tell)

    def provide(self, training_config: Path, build_on_head: BuildOnHead) -> None:
        """Puts into the bucket what the nodes need and the bucket lacks; does nothing where the run has it already.

        Raises:
            AwsError: The bucket can't be asked or written.
            SupplyError: A file of the corpus is missing, or the wheelhouse can't be built.
            AnsibleError: The wheelhouse can't be built on the head.
        """
        bucket, before = self._made.outputs.bucket, kept(self._run_directory)
        if before is not None and before.bucket == bucket:
            return
        settings = self._environment.settings.nodes.wheelhouse
        wheelhouse = None
        if settings is not None:
            wheelhouse = provide_wheelhouse(settings, self._store, bucket, self._builder, build_on_head, self._tell)
        try:
            corpus = provide_corpus(corpus_paths(self._environment, training_config), self._store, bucket)
            prepared = prepared_folder(self._environment, training_config)
        except ConfigError as error:  # it was checked before, so the file has gone since
            raise SupplyError(error.what, error.next_step) from error
        location = None if prepared is None else provide_prepared(prepared, self._store, bucket, self._tell)
        keep(Provided(bucket, wheelhouse, corpus, location), self._run_directory)

    def variables(self) -> dict[str, Any]:
        """Returns the variables `wheelhouse` and `corpus` for Ansible, with URLs that are valid from now on."""
        return self._variables(self._fetched)

    def variables_with_keys(self) -> dict[str, Any]:
        """Returns the same variables with keys of the bucket: a node that prepares itself makes URLs of them."""
        return self._variables(lambda bucket, stored: asdict(stored))

    def _variables(self, fetched: Callable[[str, Stored], dict[str, Any]]) -> dict[str, Any]:
        provided = kept(self._run_directory) or Provided("")
        wheelhouse, corpus = provided.wheelhouse, provided.corpus
        folder = f"{self._environment.settings.nodes.root}/corpus"
        settings: dict[str, Any] = {
            split: [f"{folder}/{file.name}" for file in files] for split, files in corpus.items()
        }
        if provided.prepared is not None:
            settings["directory"] = provided.prepared
        return {
            "wheelhouse": wheelhouse
            and {"made_for": dict(wheelhouse.made_for), **fetched(provided.bucket, wheelhouse.archive)},
            "corpus": {
                "files": [
                    {**fetched(provided.bucket, file.stored), "path": f"{folder}/{file.name}"}
                    for files in corpus.values()
                    for file in files
                ],
                "settings": {"corpus": settings} if settings else {},
            },
        }

    def _fetched(self, bucket: str, stored: Stored) -> dict[str, Any]:
        valid_s = self._environment.settings.controller.timeouts.configure_s + MARGIN_S
        url = self._store.url_to_read(bucket, stored.key, valid_s)
        return {"url": url, "sha256": stored.sha256, "size": stored.size}


def check_corpus(environment: Environment) -> None:
    """Raises ConfigError where a file of the corpus is missing that training.yml names."""
    config = environment.path(environment.settings.training.config)
    corpus_paths(environment, config)
    prepared_folder(environment, config)
