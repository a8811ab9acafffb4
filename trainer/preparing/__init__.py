"""Making a prepared corpus of raw text: read, clean, leave duplicates out, learn a vocabulary, encode, write shards.

`trainer.data.prepared` says what a prepared corpus is. The same input makes the same bytes, whatever the machine and
the number of its processes.
"""
