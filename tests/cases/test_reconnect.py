"""People come back: to their own seat, to the roles as they were, and at nobody else's cost."""

from __future__ import annotations

import maumau
from maumau.v1 import settings_pb2

from tests.e2e.lounge import Lounge, on_turn, refused, sees, start, take_a_turn_each

PUBLIC = settings_pb2.VISIBILITY_PUBLIC


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
    await guest.close()
    assert (await refused(other.join_room(host.id))).reason in ("MATCH_RUNNING", "ROOM_NOT_FOUND")
    await bo.set_display_name("Bob")
    back = await hall.join(bo, host)
    assert (back.own_seat, len(back.view.shedding.hand)) == (1, 5)


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


async def test_what_waits_for_an_answer_is_in_the_view_of_who_returns(hall: Lounge) -> None:
    """Entry 110: who stayed and who came back see the same, action for action."""
    people = await hall.clients("Ana", "Bo")
    host = await hall.create(people[0], "uno-casa", options={"match.target": 500}, seats=2)
    sides = [host, await hall.join(people[1], host)]
    await start(sides)
    seen = set()
    for _ in range(60):
        side = next((side for side in sides if side.legal), None)
        if side is None or side.view.HasField("outcome"):
            break
        stayed = side.view
        seen.add(stayed.shedding.phase)
        back = await people[sides.index(side)].get_room(host.id)
        if back.version != stayed.version:
            continue
        for field in ("shedding", "legal", "state", "match_id", "rounds", "own_seat"):
            assert getattr(back, field) == getattr(stayed, field), field
        try:
            await side.act(side.legal[-1])
        except maumau.Refused:
            continue
    assert seen
