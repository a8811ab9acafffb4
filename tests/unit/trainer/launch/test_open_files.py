"""A launcher may open files for many more nodes than the usual limit allows."""

from __future__ import annotations

import resource

from trainer.launch.open_files import MOST_FILES, open_many_files


def test_the_limit_is_raised_as_far_as_the_machine_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        open_many_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(before[1], MOST_FILES), before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
