"""Writing objects that only the latest owner of the cluster may write."""

from __future__ import annotations

from controller.domain.errors import AwsError, SupersededError
from controller.domain.reasons.writing import LeaseTaken
from controller.edges.bucket.objects import ChangedError, Objects
from controller.words.reasons.sentences import as_sentence

TRIES = 5


class FencedWriter:
    """Writes objects of one bucket, unless an owner of a later generation has written them.

    Args:
        objects: Those of the cluster's bucket.
        cluster: The cluster's name, for messages.
        generation: That of the lease under which it writes.
    """

    def __init__(self, objects: Objects, cluster: str, generation: int) -> None:
        self._objects, self._cluster, self._generation = objects, cluster, generation
        self._etags: dict[str, str | None] = {}

    def write(self, key: str, content: bytes) -> None:
        """Replaces an object, or makes it.

        Raises:
            SupersededError: A later owner has written it. It stays as it is.
            AwsError: The bucket can't be reached or written.
        """
        for _ in range(TRIES):
            if key not in self._etags:
                self._etags[key] = self._latest(key)
            try:
                self._etags[key] = self._objects.write(
                    key, content, follows=self._etags[key], generation=self._generation
                )
                return
            except ChangedError:
                del self._etags[key]
        raise AwsError(f"{key} in the cluster's bucket changes faster than it can be written.")

    def _latest(self, key: str) -> str | None:
        """Returns the ETag of the object, which this owner may replace; None where there is none."""
        kept = self._objects.head(key)
        if kept is not None and kept.generation > self._generation:
            reason = LeaseTaken(self._cluster, f"its owner number {kept.generation}")
            raise SupersededError(as_sentence(reason), "`centavo status --remote` shows its run.", reason=reason)
        return None if kept is None else kept.etag
