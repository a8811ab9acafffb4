"""A mark of the writer's generation at the end of an object's content.

S3's ETag of an object is the MD5 of its content. Two owners of a cluster that write the same content would give it the
same ETag. A late write of the earlier owner would then follow the later owner's version as if it were its own. With the
mark, two generations never write the same bytes. No program that reads the object minds the mark.
"""

from __future__ import annotations

import re

TEXTS = (".json", ".tfstate", ".html", ".log")
"""Formats in which white space at the end means nothing."""
PACKED = ".gz"
BITS = str.maketrans("01", " \t")
EMPTY_MEMBER = b"\x1f\x8b\x08\x10" + bytes(5) + b"\xff", b"\0\x03\0" + bytes(8)
"""A member of a gzip file that holds nothing but a comment, which comes between these two parts (RFC 1952)."""

NAMED_BY_DIGEST = re.compile(r"/[0-9a-f]{64}\.")
"""Where a key has the SHA-256 of its object's content. Whoever reads the object checks it."""


def stamp_of(key: str, generation: int) -> bytes:
    """Returns the mark of a generation in an object's format. It is empty where an object takes none.

    Objects without a mark never change once they are written: every owner of the run writes the same. That holds for
    formats without a place for it, and for an object whose key has the SHA-256 of its content.
    """
    if NAMED_BY_DIGEST.search(key):
        return b""
    if key.endswith(TEXTS):
        return f"\n{f'{generation:b}'.translate(BITS)}".encode()
    if key.endswith(PACKED):
        before, after = EMPTY_MEMBER
        return before + str(generation).encode() + after
    return b""
