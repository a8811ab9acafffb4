"""A prepared corpus: what `trainer.preparing` writes once, and every rank reads.

It is a folder, or a prefix in S3:

    manifest.json                  what it has: written last, so that a corpus without it is not whole
    vocabulary                     the SentencePiece model that the ids are from
    SPLIT/00000-DIGEST.ids         a shard of the split `train`, `validation` or `test`: its sentence pairs as ids
    SPLIT/00000-DIGEST.text        the same pairs as text, for BPE-dropout and for scores

Shards are mapped into memory. A rank maps the shard that it reads and the next one, however many there are.
"""
