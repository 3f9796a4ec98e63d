"""People come back: to their own seat, to the roles as they were, and at nobody else's cost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import maumau
import pytest
from maumau.v1 import authority_pb2, cards_pb2, room_pb2, settings_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, on_turn, refused, sees, start, take_a_turn_each, together
from tests.e2e.stacks import options

PUBLIC = settings_pb2.VISIBILITY_PUBLIC


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Stack]:
    """A server whose bookmarks come as seldom as by default."""
    with Stack(options(tmp_path)) as running:
        yield running


async def test_who_returns_sees_players_as_players_and_spectators_as_spectators(hall: Lounge) -> None:
    """Entry 112."""
    people = await hall.clients("Ana", "Bo", "Eve", "Fay")
    host = await hall.create(people[0], seats=2, visibility=PUBLIC)
    await hall.join(people[1], host)
    for spectator in people[2:]:
        await hall.watch(spectator, host)
    await host.close()
    back = await hall.enter(people[0].room(host.id))
    view = await sees(back, lambda view: view.spectators == 2)
    assert [seat.display_name for seat in view.seats] == ["Ana", "Bo"]
    assert view.own_seat == 0


async def test_the_first_look_shows_who_is_there_at_whatever_process(patient: Stack) -> None:
    """Entry 112, where no bookmark has come yet."""
    one, other = patient.addresses(GAME_AUTHORITY)
    async with channel_to(patient.address) as lobby, channel_to(one) as here, channel_to(other) as there:
        ana, bo = await sign_in(lobby, "Ana", rooms=here), await sign_in(lobby, "Bo", rooms=there)
        room = await ana.create_room(2)
        await bo.join(room)
        watching = ana.watch(room)
        first = await watching.read()
        assert isinstance(first, authority_pb2.WatchResponse)
        assert [seat.connected for seat in first.snapshot.room.seats] == [True, False]
        await eventually(lambda: _is_there(bo, room, 0), "Ana has entered")
        at_bo = bo.watch(room)
        first = await at_bo.read()
        assert isinstance(first, authority_pb2.WatchResponse)
        assert [seat.connected for seat in first.snapshot.room.seats] == [True, True]
        for watch in (watching, at_bo):
            watch.cancel()


async def _is_there(guest: Guest, room: str, seat: int) -> bool:
    return bool((await guest.get_room(room)).room.seats[seat].connected)


async def test_who_returns_to_a_closed_room_is_told_so_and_sent_away(fleeting: Stack) -> None:
    """Entry 108: nobody waits in a room in which nothing will happen any more."""
    async with channel_to(fleeting.address) as channel:
        ana = await sign_in(channel, "Ana")
        room = await ana.create_room(2)
        messages = [message async for message in ana.watch(room)]  # until it is closed, since nothing happens in it
        assert messages[-1].go_away.reason == room_pb2.GO_AWAY_REASON_ROOM_CLOSED
        for token in (b"", messages[0].snapshot.resume_token, messages[-1].go_away.resume_token):
            again = [message async for message in ana.watch(room, token)]
            assert again[-1].go_away.reason == room_pb2.GO_AWAY_REASON_ROOM_CLOSED


async def test_joining_again_is_answered_with_the_seat_and_is_no_event(hall: Lounge) -> None:
    """Entry 114."""
    ana, bo = await hall.clients("Ana", "Bo")
    host = await hall.create(ana, seats=2)
    guest = await hall.join(bo, host)
    before = host.version
    again = await hall.join(bo, host)
    assert (again.own_seat, again.version, host.version) == (guest.own_seat, before, before)
    await start([host, again])
    before = host.version
    once_more = await hall.join(bo, host)
    assert (once_more.own_seat, once_more.version) == (1, before)
    assert len(once_more.view.shedding.hand) == 5


async def test_a_seat_is_the_persons_and_not_the_names(hall: Lounge) -> None:
    """Entry 115."""
    ana, bo, other = await hall.clients("Ana", "Bo", "Bo")
    host = await hall.create(ana, seats=2)
    guest = await hall.join(bo, host)
    await start([host, guest])
    await together([host, guest])
    if guest.view.shedding.turn == guest.own_seat:  # a bot would soon play the turn of who is gone
        await take_a_turn_each([guest])
    held = guest.view.shedding.hand
    await guest.close()
    assert (await refused(other.join_room(host.id))).reason in ("MATCH_RUNNING", "ROOM_NOT_FOUND")
    await bo.set_display_name("Bob")
    back = await hall.join(bo, host)
    assert (back.own_seat, list(back.view.shedding.hand)) == (1, list(held))


async def test_who_goes_and_returns_does_not_touch_the_clock_of_who_is_on_turn(hall: Lounge) -> None:
    """Entry 117."""
    people = await hall.clients("Ana", "Bo")
    host = await hall.create(people[0], seats=2)
    sides = [host, await hall.join(people[1], host)]
    await start(sides)
    await take_a_turn_each(sides)
    staying = on_turn(sides)
    (going,) = [side for side in sides if side is not staying]
    before = staying.view.clock
    await going.close()
    await sees(staying, lambda view: not view.seats[going.own_seat or 0].connected)
    back = await hall.enter(people[sides.index(going)].room(host.id))
    await sees(staying, lambda view: view.seats[going.own_seat or 0].connected)
    for view in (back.view, await people[sides.index(staying)].get_room(host.id)):
        assert (view.clock.deadline, view.clock.turn_started) == (before.deadline, before.turn_started)
        assert list(view.clock.bank_milliseconds) == list(before.bank_milliseconds)


def _alike(stayed: room_pb2.RoomView, back: room_pb2.RoomView) -> bool:
    fields = ("version", "shedding", "legal", "state", "match_id", "rounds", "own_seat")
    return all(getattr(back, field) == getattr(stayed, field) for field in fields)


async def test_what_waits_for_an_answer_is_in_the_view_of_who_returns(hall: Lounge) -> None:
    """Entry 110: who stayed and who came back see the same, action for action, up to a challenge that is waited for."""
    people = await hall.clients("Ana", "Bo")
    host = await hall.create(people[0], "uno-casa", options={"match.target": 500}, seats=2)
    sides = [host, await hall.join(people[1], host)]
    await start(sides)
    seen = list[room_pb2.Phase.ValueType]()
    while room_pb2.PHASE_CHALLENGE not in seen:
        await together(sides)
        side = await eventually(lambda: _who_may_act(sides), "somebody may act")
        back = await people[sides.index(side)].get_room(host.id)
        # A choice that the start card asks for the SDK learns from the server, a moment later.
        same = await sees(side, lambda view: view.version > back.version or _alike(view, back))  # noqa: B023 - awaited
        if same.version == back.version:
            seen.append(back.shedding.phase)
        with contextlib.suppress(maumau.Refused):  # a clock was faster
            await side.act(min(side.legal, key=_leads_away_from_a_challenge))
    assert {action.WhichOneof("action") for action in back.legal.actions} >= {"challenge", "accept"}
    assert room_pb2.PHASE_PLAY in seen


def _who_may_act(sides: list[maumau.Room]) -> maumau.Room | None:
    """Who is on turn rather than others."""
    able = [side for side in sides if side.legal]
    return min(able, key=lambda side: side.view.shedding.turn != side.own_seat, default=None)


def _leads_away_from_a_challenge(action: maumau.actions.Action) -> int:
    """A Wild Draw Four is laid as soon as somebody has one; until then everybody draws."""
    kind = action.WhichOneof("action")
    if kind == "play" and action.play.card.rank == cards_pb2.RANK_WILD_DRAW_FOUR:
        return 0
    return 1 if kind in ("draw", "pass") else 2
