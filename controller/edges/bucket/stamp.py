"""A mark of the writer's generation at the end of an object's content.

S3's ETag of an object is the MD5 of its content. Two owners of a cluster that write the same content would give it the
same ETag. A late write of the earlier owner would then follow the later owner's version as if it were its own. With the
mark, two generations never write the same bytes. No program that reads the object minds the mark.
"""

from __future__ import annotations

TEXTS = (".json", ".tfstate", ".html", ".log")
"""Formats in which white space at the end means nothing."""
PACKED = ".gz"
BITS = str.maketrans("01", " \t")
EMPTY_MEMBER = b"\x1f\x8b\x08\x10" + bytes(5) + b"\xff", b"\0\x03\0" + bytes(8)
"""A member of a gzip file that holds nothing but a comment, which comes between these two parts (RFC 1952)."""


def stamp_of(key: str, generation: int) -> bytes:
    """Returns the mark of a generation in an object's format. It is empty in formats that take none.

    Objects in such a format never change once they are written: every owner of the run writes the same.
    """
    if key.endswith(TEXTS):
        return f"\n{f'{generation:b}'.translate(BITS)}".encode()
    if key.endswith(PACKED):
        before, after = EMPTY_MEMBER
        return before + str(generation).encode() + after
    return b""
