"""The fields of a sentence pair in a data set of Petastorm."""

from __future__ import annotations

import numpy as np
from petastorm.codecs import NdarrayCodec
from petastorm.unischema import Unischema, UnischemaField

SHARD = UnischemaField("shard", np.str_, (), None, False)
"""The shard, such as train-00000. Each shard has a folder of its own."""
NUMBER = UnischemaField("number", np.int64, (), None, False)
"""The number of the pair in the corpus. Within a shard the pairs are in this order."""
SOURCE = UnischemaField("source", np.str_, (), None, False)
TARGET = UnischemaField("target", np.str_, (), None, False)
SOURCE_IDS = UnischemaField("source_ids", np.int32, (None,), NdarrayCodec(), False)
TARGET_IDS = UnischemaField("target_ids", np.int32, (None,), NdarrayCodec(), False)
"""The piece ids of a side, without begin and end of sentence."""
PAIR = Unischema("Pair", [SHARD, NUMBER, SOURCE, TARGET, SOURCE_IDS, TARGET_IDS])


def shard_name(split: str, number: int) -> str:
    """Returns the value of the field `shard` for a shard of a split."""
    return f"{split}-{number:05d}"
