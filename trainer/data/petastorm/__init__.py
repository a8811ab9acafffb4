"""A prepared corpus as a data set of Petastorm: what `prepare --engine spark --petastorm FOLDER` keeps.

It is a folder that every node sees:

    petastorm.json                 the manifest of the corpus: written last, so that a data set without it is not whole
    vocabulary                     the SentencePiece model that the ids are from
    pairs/shard=SPLIT-00000/       the sentence pairs of one shard in Parquet, with the fields of `schema`

It has the same shards as the corpus in the form of `trainer.data.prepared`. A training on either makes the same steps.
The packages come with `make setup SPARK=1`. Only `reading` and `schema` import them.
"""
