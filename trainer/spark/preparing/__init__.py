"""The engine that prepares a corpus on Spark: the same bytes as `trainer.preparing`, whose functions the tasks call.

Between the stages the pairs lie in Parquet, in the folder of unfinished work:

    cleaned         a row for each pair that the filters have left, and one for the summary of each chunk
    pairs           the data set of Petastorm, in which each pair has its shard and its ids

A stage that is done is not done again.
"""
