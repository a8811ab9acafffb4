"""A journal's database whose writes are calls of the world, and may fail as such."""

from __future__ import annotations

import sqlite3
from typing import Any

from tests.unit.controller.world.calls import Effect
from tests.unit.controller.world.world import World

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class WorldDatabase:
    """A connection of SQLite. Each statement that writes is a call `journal` of the world."""

    def __init__(self, world: World, connection: sqlite3.Connection) -> None:
        self._world, self._connection = world, connection

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Executes a statement."""

        def effect() -> sqlite3.Cursor:
            return self._connection.execute(sql, parameters)

        if not sql.lstrip().upper().startswith(WRITES):
            return effect()
        return self._world.call("journal", Effect(effect, effect))  # type: ignore[no-any-return]

    def __enter__(self) -> sqlite3.Connection:
        return self._connection.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._connection.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
