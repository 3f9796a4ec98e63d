"""Judge one action in a room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from services.rules.room import actions as a
from services.rules.room import after, lobby, making, playing, timeouts
from services.rules.room.draft import Draft
from services.rules.room.ending import end_by_version_limit
from services.rules.room.listing import listing
from services.rules.room.reasons import AlreadyDone, NotDue, RoomReason, RoomRefusal
from services.rules.room.requests import refuse_repeat, remember
from services.rules.room.settings import VERSION_LIMIT
from services.rules.room.state import IN_MATCH, Room, RoomPhase
from services.rules.room.step import Context, RoomStep
from services.rules.room.timers import clock_change, note_beginnings


class _Rule(NamedTuple):
    """Who may attempt an action, in which phases, and what does it. `host`: of people, only the host. `strangers`: also
    people without a seat. `shapes`: during a ready check nobody is the host for it, since the room is what its players
    asked matchmaking for. `otherwise`: the reason in other phases, where the phase does not say it."""

    actors: tuple[type, ...]
    phases: tuple[RoomPhase, ...]
    do: Callable[[Draft, Any], None]
    host: bool = False
    strangers: bool = False
    shapes: bool = False
    otherwise: RoomReason | None = None


_LOBBY = (RoomPhase.OPEN, RoomPhase.READY_CHECK)
_LIVE = tuple(phase for phase in RoomPhase if phase is not RoomPhase.CLOSED)
_PERSON, _SERVER = (a.Player,), (a.Operator, a.Matchmaker)

_RULES: dict[type, _Rule] = {
    a.CreateRoom: _Rule((a.Matchmaker,), _LIVE, making.create),
    a.TakeSeat: _Rule(_PERSON, _LIVE, lobby.take_seat, strangers=True),
    a.LeaveSeat: _Rule(_PERSON, _LIVE, lobby.leave_seat),
    a.SetReady: _Rule(_PERSON, _LOBBY, lobby.set_ready),
    a.AddBot: _Rule(_PERSON, _LOBBY, lobby.add_bot, host=True, shapes=True),
    a.RemoveSeat: _Rule((a.Player, a.Operator), _LOBBY, lobby.remove_seat, host=True, shapes=True),
    a.ChangeOptions: _Rule(_PERSON, _LOBBY, making.change_options, host=True, shapes=True),
    a.RotateInvite: _Rule(_PERSON, _LIVE, lobby.rotate_invite, host=True),
    a.Start: _Rule(_PERSON, _LOBBY, lobby.start, host=True),
    a.Mute: _Rule((a.Player, a.Operator), _LIVE, lobby.mute, host=True),
    a.Act: _Rule((a.Player, a.Bot), (*IN_MATCH, RoomPhase.FINISHED), playing.act),
    a.ReadyForRound: _Rule(
        _PERSON, (RoomPhase.PAUSE,), playing.ready_for_round, otherwise=RoomReason.NOT_BETWEEN_ROUNDS
    ),
    a.TakeBack: _Rule(_PERSON, IN_MATCH, lobby.come_back),
    a.Rematch: _Rule(_PERSON, (RoomPhase.FINISHED,), after.rematch, otherwise=RoomReason.MATCH_NOT_FINISHED),
    a.Timeout: _Rule((a.Clock,), _LIVE, timeouts.time_out),
    a.CreditTime: _Rule((a.Clock,), _LIVE, after.credit_time),
    a.AbortMatch: _Rule((a.Operator,), IN_MATCH, after.abort),
    a.CloseRoom: _Rule(_SERVER, _LIVE, after.close_room),
}


def apply(room: Room | None, actor: a.Actor, action: a.RoomAction, ctx: Context) -> RoomStep:
    """Attempt an action. `room` is None for `CreateRoom` alone, and is never touched.

    Raises RoomRefusal, IllegalAction (the game's refusals) and RulesetError for what is refused; AlreadyDone with a
    version for a repeat, or for what holds already; NotDue for a timer that does not run. ValueError: the caller's
    context lacks what the action needs."""
    before = _room_to_judge(room, action, ctx)
    refuse_repeat(before, actor, action, ctx)
    rule = _RULES[type(action)]
    _refuse_actor(before, actor, rule)
    _refuse_moment(before, rule, ctx)
    draft = Draft(before, actor, ctx)
    rule.do(draft, action)
    _enforce_version_limit(draft)
    draft.change(version=draft.version, requests=remember(before, actor, action, ctx))
    note_beginnings(before, draft)
    line = listing(draft.room)
    relist = line != (None if room is None else listing(room))
    return RoomStep(draft.room, draft.events, clock_change(before, draft), draft.results, line, relist)


def _room_to_judge(room: Room | None, action: a.RoomAction, ctx: Context) -> Room:
    if isinstance(action, a.CreateRoom):
        if room is not None:
            raise AlreadyDone(room.version)
        return making.empty_room(action, ctx)
    if room is None:
        raise RoomRefusal(RoomReason.ROOM_NOT_FOUND)
    return room


def _refuse_actor(room: Room, actor: a.Actor, rule: _Rule) -> None:
    if room.phase is RoomPhase.CLOSED:
        if isinstance(actor, a.Clock):
            raise NotDue
        raise RoomRefusal(RoomReason.ROOM_CLOSED)
    if not isinstance(actor, rule.actors):
        raise RoomRefusal(RoomReason.NOT_ALLOWED)
    if not isinstance(actor, a.Player):
        return
    if not rule.strangers and room.seat_of(actor.id) is None:
        raise RoomRefusal(RoomReason.NOT_SEATED)
    nobody_is_host = rule.shapes and room.phase is RoomPhase.READY_CHECK
    if rule.host and (actor.id != room.host or nobody_is_host):
        raise RoomRefusal(RoomReason.NOT_HOST)


def _refuse_moment(room: Room, rule: _Rule, ctx: Context) -> None:
    if room.phase not in rule.phases:
        raise RoomRefusal(rule.otherwise or _wrong_phase(room))
    if ctx.version is not None and ctx.version > room.version:
        raise RoomRefusal(RoomReason.STALE, version=ctx.version, began=room.version, subject="room")


def _wrong_phase(room: Room) -> RoomReason:
    if room.phase in IN_MATCH:
        return RoomReason.MATCH_RUNNING
    if room.phase is RoomPhase.FINISHED:
        return RoomReason.MATCH_OVER
    return RoomReason.MATCH_NOT_RUNNING


def _enforce_version_limit(draft: Draft) -> None:
    if draft.in_match and draft.version - draft.match.first_version + 1 >= VERSION_LIMIT:
        end_by_version_limit(draft)
