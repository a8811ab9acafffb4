"""Nodes that have nothing: their packages come from a real wheelhouse and their corpus from a person's files."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.sandbox import edit_yaml, make_sandbox, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3600)]
WORDS = ["um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez"]


def write_corpus(root: Path) -> dict[str, list[str]]:
    """Writes a small parallel text, and returns what training.yml says of it."""
    named = {}
    for split, count in (("train", 800), ("validation", 40), ("test", 40)):
        named[split] = [f"mine/{split}.{language}" for language in ("en", "pt")]
        for path, tongue in zip(named[split], (str, lambda n: WORDS[n % 10]), strict=True):
            (root / path).parent.mkdir(exist_ok=True)
            lines = [" ".join(tongue(n * k) for k in (1, 3, 7, n)) for n in range(1, count + 1)]
            (root / path).write_text("\n".join(lines) + "\n")
    return named


def test_nodes_get_packages_and_corpus_from_the_bucket_and_train(tmp_path: Path, stack: ExitStack) -> None:
    sandbox = make_sandbox(
        tmp_path / "checkout", stack, initial={"c5.large": 1, "c5.2xlarge": 1},
        speeds={"c5.large": 0.4, "c5.2xlarge": 0.4}, steps=100_000,
    )  # fmt: skip

    def nodes(it: dict[str, Any]) -> None:
        it["nodes"].update(python="~/centavo/venv/bin/python", wheelhouse={"python": "3.11", "glibc": "2.36"})
        it["controller"]["timeouts"].update(boot_s=600, configure_s=900)

    edit_yaml(sandbox.environment / "centavo.yml", nodes)
    corpus = {"kind": "files", **write_corpus(sandbox.root)}
    edit_yaml(sandbox.environment / "training.yml", lambda it: it.update(corpus=corpus, vocabulary={"size": 320}))
    missing = sandbox.root / "mine" / "test.pt"
    missing.rename(missing.with_suffix(".away"))
    refused = sandbox.centavo("apply")
    assert refused.returncode == 4 and "mine/test.pt, which can't be read" in refused.stdout
    assert sandbox.running_workers() == {}, "nothing was bought"
    missing.with_suffix(".away").rename(missing)

    assert sandbox.centavo("apply").returncode == 0
    for changes, what in ((True, "first"), (False, "second")):
        began = time.monotonic()
        done = sandbox.centavo("configure")
        print(f"the {what} configuring took {time.monotonic() - began:.1f} s")
        assert done.returncode == 0
        assert ("changed=0" not in done.stdout) is changes
    assert sandbox.centavo("train").returncode == 0
    for node in sandbox.root.glob(".localcloud/**/centavo/corpus"):
        assert len(list(node.iterdir())) in (0, 6)
    wait_until(lambda: "training" in sandbox.centavo("facts").stdout, 300, "no rank trains")
    assert sandbox.centavo("destroy").returncode == 0
