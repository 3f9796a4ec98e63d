"""The control for kills of an authority: a process that answers a commit at once and sends it a little later.

Everything else is the real process. While it lives nobody notices; when it is killed, what was answered and not yet
sent is lost, and the checker has to find that.
"""

from __future__ import annotations

import asyncio
from typing import Final

from services.game_authority.__main__ import bind
from services.rules.room.actions import Act
from services.rules.room.journal import decode_entry
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.records import Clock, Commit, CommitResult, Committed, Head
from services.store.rooms import RoomStore

LATE_SECONDS: Final = 0.3

_commit = RoomStore.commit
_later: set[asyncio.Task[CommitResult]] = set()


async def _commit_later(store: RoomStore, commit: Commit) -> CommitResult:
    await asyncio.sleep(LATE_SECONDS)
    return await _commit(store, commit)


async def _answer_early(store: RoomStore, commit: Commit) -> CommitResult:
    if commit.after is None or not isinstance(decode_entry(commit.payload).action, Act):
        return await _commit(store, commit)  # rooms get ready as ever
    task = asyncio.create_task(_commit_later(store, commit))
    _later.add(task)
    task.add_done_callback(_later.discard)
    return Committed(Head(commit.after.version + 1, commit.mark), Clock(now=0))


if __name__ == "__main__":
    RoomStore.commit = _answer_early  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
