"""Whole matches over all processes and Envoy: nobody misses a version, everybody agrees, no card goes astray."""

from __future__ import annotations

import asyncio

import pytest
from maumau.v1 import room_pb2

from services.local.stack import Stack
from services.rules.events import MatchEnded
from services.rules.room.journal import decode_entry
from services.store.assembly import Store
from services.store.keys import RoomId
from tests.e2e.eventually import eventually
from tests.e2e.lounge import counted
from tests.e2e.playing import Match, Party, party
from tests.e2e.watching import counting_cards
from tests.faults.checker import check_room, read_log
from tests.faults.history import History, Records, read_records

FULL = {"match.target": 150}
SHORT = {"match.target": 60}
MATCHES = (
    *(Match(2, options=FULL),) * 3,
    *(Match(2, options=SHORT),) * 4,
    *(Match(1, 1, options=FULL),) * 2,
    *(Match(3, options=SHORT),) * 3,
    *(Match(2, 1, options=FULL),) * 3,
    *(Match(4, options=SHORT),) * 2,
    *(Match(2, 2, options=FULL),) * 3,
)


pytestmark = pytest.mark.timeout(600)  # ten matches at once take a busy machine long


def final_scores(view: room_pb2.RoomView) -> tuple[list[int], list[int], list[int]]:
    return list(view.outcome.scores), list(view.outcome.places), list(view.outcome.winners)


async def logged_scores(store: Store, room: str) -> tuple[list[int], list[int], list[int]]:
    events = [event for entry in await read_log(store.rooms, room) for event in decode_entry(entry.payload).events]
    (ended,) = [event for event in events if isinstance(event, MatchEnded)]
    return list(ended.scores), list(ended.places), list(ended.winners)


async def check_agreement(store: Store, players: Party, views: list[room_pb2.RoomView]) -> None:
    """Clients, log and scoring say the same of how the match ended."""
    logged = await logged_scores(store, players.room_id)
    assert [final_scores(view) for view in views] == [logged] * len(views)
    record = await counted(players.people[0].client, views[0].match_id)
    winners = [number for number, seat in enumerate(record.seats) if seat.winner]
    assert (list(record.scores), [seat.place for seat in record.seats], winners) == logged
    assert [(r.round, list(r.points)) for r in record.rounds] == [(r.round, list(r.points)) for r in views[0].rounds]


async def check_versions(store: Store, players: Party, records: Records) -> int:
    """Every person saw every version, from the first that the stream held to the last of the log; how many there
    are."""
    log = await read_log(store.rooms, players.room_id)
    assert check_room(players.room_id, log, records) == []
    for person in players.people:
        seen = [sighting.version for sighting in records.sightings if sighting.client == person.recording.client]
        assert seen == list(range(seen[0], len(log) + 1))
    return len(log)


async def whole_match(
    stack: Stack, store: Store, history: History, name: str, match: Match
) -> tuple[Party, list[room_pb2.RoomView]]:
    """One match to its end, with a look at all cards of every state on the way."""
    async with party(stack.address, match, history, name) as players:
        async with counting_cards(store, players.room_id) as cards:
            await players.start()
            views = await players.play()
            last = await store.rooms.head(RoomId(players.room_id))
            assert last is not None
            await eventually(lambda: cards.versions[-1] == last.version, "the last state is published")
        assert cards.wrong == []
        assert cards.versions == list(range(cards.versions[0], last.version + 1))
        assert cards.states > 0
        await check_agreement(store, players, views)
        return players, views


@pytest.mark.parametrize("half", [MATCHES[::2], MATCHES[1::2]], ids=["first ten", "other ten"])
async def test_everybody_sees_every_version_and_the_same_scores(
    stack: Stack, store: Store, history: History, half: tuple[Match, ...]
) -> None:
    played = await asyncio.gather(
        *(whole_match(stack, store, history, f"M{number}", match) for number, match in enumerate(half))
    )
    records = read_records([history.path])
    for players, _ in played:
        await check_versions(store, players, records)


OTHER_GAMES = (
    *(Match(2, 1, preset, {"match.target": "single"}) for preset in ("uno", "uno-mattel", "uno-casa")),
    Match(2, 2, "mau-mau-brasil"),
    *(Match(2, 2, preset, {"match.target": "single"}) for preset in ("tranca", "tranca-jogatina")),
)


async def test_the_other_games_end_in_the_same_agreement(stack: Stack, store: Store, history: History) -> None:
    played = await asyncio.gather(
        *(whole_match(stack, store, history, f"O{number}", match) for number, match in enumerate(OTHER_GAMES))
    )
    records = read_records([history.path])
    for players, views in played:
        assert list(views[0].outcome.winners)
        await check_versions(store, players, records)
