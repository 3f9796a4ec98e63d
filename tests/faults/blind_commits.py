"""The control for races: a process that does not look whether its commit was the one that Redis took.

Whoever loses a race is told the version that it would have become.
"""

from __future__ import annotations

from services.game_authority.__main__ import bind
from services.rules.room.actions import Act
from services.rules.room.journal import decode_entry
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.records import Clock, Commit, CommitResult, Committed, Conflict, Head
from services.store.rooms import RoomStore

_commit = RoomStore.commit


async def _commit_and_believe(store: RoomStore, commit: Commit) -> CommitResult:
    result = await _commit(store, commit)
    if commit.after is None or not isinstance(result, Conflict):
        return result
    if not isinstance(decode_entry(commit.payload).action, Act):
        return result  # rooms get ready as ever
    return Committed(Head(commit.after.version + 1, commit.mark), Clock(now=0))


if __name__ == "__main__":
    RoomStore.commit = _commit_and_believe  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
