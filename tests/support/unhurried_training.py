"""The trainer's command line, with a training that waits for its storage: `python unhurried_training.py ARGUMENTS...`.

The trainer leaves a checkpoint out while two are waiting for the storage. How often that happens depends on the load of
the machine. Here the training waits until the storage has taken one of the two, so that no checkpoint is left out.
"""

from __future__ import annotations

import sys
import time

from trainer import cli
from trainer.checkpoint.checkpoint import Checkpoint
from trainer.checkpoint.checkpoints import Checkpoints

POLL_S = 0.005
save_in_background = Checkpoints.save_in_background


def wait_and_save_in_background(self: Checkpoints, checkpoint: Checkpoint) -> bool:
    while self._pending.full():
        time.sleep(POLL_S)
    return save_in_background(self, checkpoint)


Checkpoints.save_in_background = wait_and_save_in_background  # type: ignore[method-assign]
sys.exit(cli.main())
