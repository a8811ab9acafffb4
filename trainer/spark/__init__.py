"""Preparing, training and translating on Apache Spark, with the packages of `make setup SPARK=1`.

Spark's executors run the functions of the other rooms. They need this program at the same path as the driver, and they
need to see the same files: raw text, folder of unfinished work, models.
"""
