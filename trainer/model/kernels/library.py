"""Loading the kernels into MXNet."""

from __future__ import annotations

import logging
import os
from functools import lru_cache

import mxnet as mx

from trainer.model.kernels.compiler import CompileError, compiled

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def load() -> bool:
    """Makes the operators `mx.nd.centavo_*` available. Returns whether they are; the log says once why they are not."""
    if os.environ.get("CENTAVO_KERNELS", "on") == "off":
        return False
    try:
        mx.library.load(str(compiled()), verbose=False)
    except (CompileError, OSError, mx.MXNetError) as error:
        log.warning("the training runs without fused kernels, more slowly: %s", str(error).strip().splitlines()[0])
        return False
    return True
