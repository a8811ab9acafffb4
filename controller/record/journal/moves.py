"""The moves of a run."""

from __future__ import annotations

from controller.domain import Move, MovePhase
from controller.record.journal import codec
from controller.record.journal.table import Table

FINAL = ", ".join(f"'{phase.value}'" for phase in MovePhase if phase.is_final)


class MoveTable(Table):
    """The table `moves`."""

    def next_move_id(self) -> int:
        """Returns the number of the next move."""
        return int(self._database.execute("SELECT coalesce(max(move_id), 0) + 1 FROM moves").fetchone()[0])

    def save_move(self, move: Move) -> None:
        """Writes a move's row, the first time or again."""
        row = codec.move_to_row(move)
        names = ", ".join(row), ", ".join(f":{name}" for name in row)
        self._must_write((f"INSERT OR REPLACE INTO moves ({names[0]}) VALUES ({names[1]})", row))

    def moves(self) -> tuple[Move, ...]:
        """Returns all moves, oldest first."""
        return tuple(codec.move_from_row(row) for row in self._database.execute("SELECT * FROM moves ORDER BY move_id"))

    def move_under_way(self) -> Move | None:
        """Returns the move that is neither done nor undone, if there is one."""
        row = self._database.execute(f"SELECT * FROM moves WHERE phase NOT IN ({FINAL}) ORDER BY move_id").fetchone()
        return None if row is None else codec.move_from_row(row)
