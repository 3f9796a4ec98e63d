"""Rooms of the real rules played by chance, as the views and updates that a client gets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from maumau.v1 import authority_pb2, room_pb2

from services.rules import engine
from services.rules.bots.levels import BotLevel
from services.rules.room import actions as a
from services.rules.room.apply import apply
from services.rules.room.state import Room, RoomPhase
from services.rules.room.step import Context
from services.rules.room.views import game_actions, room_view, view_events
from services.wire.updates import EncodedVersion, actor_message
from services.wire.views import legal_bytes, room_message

LOBBY = (RoomPhase.OPEN, RoomPhase.READY_CHECK)


class Moment(NamedTuple):
    """One version as a viewer gets it: the view before, the update, the view after."""

    viewer: str
    before: room_pb2.RoomView
    update: room_pb2.Update
    after: room_pb2.RoomView


def moments(
    preset: str, seats: int, seed: int, *, viewers: list[str], options: dict[str, Any] | None = None, limit: int = 600
) -> Iterator[Moment]:
    """Every version of a room from its second one on, until a match is over or `limit` versions were made."""
    chance = random.Random(seed)
    room: Room | None = None
    for actor, action in _script(preset, seats, options or {}):
        room, _, moment = _do(room, actor, action, chance, viewers)
        yield from moment
    assert room is not None
    while room.phase is not RoomPhase.FINISHED and room.version < limit:
        actor, action = _next(room, chance)
        room, _, moment = _do(room, actor, action, chance, viewers)
        yield from moment
    for actor, action in ((a.Player("p0"), a.Rematch()), (a.Player("p1"), a.LeaveSeat())):
        if room.phase in (RoomPhase.FINISHED, *LOBBY):
            room, _, moment = _do(room, actor, action, chance, viewers)
            yield from moment


def _script(preset: str, seats: int, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    host = a.Person(player="p0", name="Player 0")
    settings: dict[str, object] = {"seats": seats}
    yield a.Matchmaker(), a.CreateRoom("room", preset, (host,), options=options, settings=settings)
    people = seats if seats == 2 else seats - 1
    if people < seats:
        yield a.Player("p0"), a.AddBot(BotLevel.RANDOM, 1)
    for number in range(1, people):
        yield a.Player(f"p{number}"), a.TakeSeat(name=f"Player {number}", seat=None, invite=1)
    yield a.Player("p1"), a.SetReady(True, b"x")
    yield a.Player("p1"), a.SetReady(False)
    for number in range(people):
        yield a.Player(f"p{number}"), a.SetReady(True)
    yield a.Player("p0"), a.Start()


def _next(room: Room, chance: random.Random) -> tuple[Any, Any]:
    if room.phase is RoomPhase.PAUSE:
        waiting = [seat for _, seat in room.people() if not seat.round_ready]
        return a.Player(waiting[0].player), a.ReadyForRound()
    assert room.match is not None
    state = room.match.state
    able = [seat for seat in {*engine.must_act(state), *engine.may_act(state)} if any(game_actions(room, seat))]
    seat = chance.choice(sorted(able))
    legal, penal = game_actions(room, seat)
    action = chance.choice(penal if penal and (not legal or chance.random() < 0.05) else legal)
    taken = room.seats[seat]
    assert taken is not None
    return (a.Player(taken.player) if taken.is_person else a.Bot(seat)), a.Act(action)


def _do(
    room: Room | None, actor: Any, action: Any, chance: random.Random, viewers: list[str]
) -> tuple[Room, Any, list[Moment]]:
    context = Context(match_id=f"match-{chance.random()}", seed=chance.randbytes(32))
    step = apply(room, actor, action, context)
    found = [] if room is None else [_moment(room, step, actor, viewer) for viewer in viewers]
    return step.room, step, found


def _moment(before: Room, step: Any, actor: Any, player: str) -> Moment:
    seat_before, seat = before.seat_of(player), step.room.seat_of(player)
    shown_to = None if step.room.phase in LOBBY else seat
    encoded = EncodedVersion(step.room.version, 0, actor_message(actor), None, b"token")
    legal = legal_bytes(*game_actions(step.room, seat))
    message = encoded.message(view_events(step.room, step.events, shown_to), legal)
    return Moment(
        player,
        _message(before, seat_before),
        authority_pb2.WatchResponse.FromString(message).update,
        _message(step.room, seat),
    )


def _message(room: Room, seat: int | None) -> room_pb2.RoomView:
    message = room_message(room_view(room, None if room.phase in LOBBY else seat))
    if seat is not None:
        message.own_seat = seat
    if not message.HasField("legal"):
        message.legal.SetInParent()
    return message
