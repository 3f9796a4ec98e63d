"""The room is made, and its ruleset and settings are changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from services.rules.fairness import SEED_BYTES, commit
from services.rules.room.actions import ChangeOptions, CreateRoom
from services.rules.room.draft import Draft
from services.rules.room.events import OptionsChanged, RoomCreated, RulesetChoice, SeedCommitted
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.room.seating import free_number, resize, seat_bot, sit_down
from services.rules.room.settings import RoomSettings, change_settings
from services.rules.room.state import Room, RoomPhase, Upcoming, canonical_options
from services.rules.room.step import Context
from services.rules.ruleset import Ruleset, make_ruleset

DEFAULT_SEATS = 4


def empty_room(action: CreateRoom, ctx: Context) -> Room:
    """The room before its first version, with nobody in it. Raises RulesetError, RoomRefusal (INVALID_FIELD,
    NO_PERSON_LEFT), and ValueError where the context lacks match id or seed."""
    if not action.people:
        raise RoomRefusal(RoomReason.NO_PERSON_LEFT)
    ruleset = make_ruleset(action.preset, action.options)
    settings = _settings(RoomSettings(), action.settings, ruleset, len(action.people) + action.bots)
    return Room(
        schema=ctx.schema,
        revision=ctx.revision,
        id=action.room_id,
        version=0,
        phase=RoomPhase.READY_CHECK if action.quick_play else RoomPhase.OPEN,
        preset=ruleset.preset,
        options=canonical_options(ruleset),
        settings=settings,
        host=action.people[0].player,
        seats=(None,) * settings.seats,
        upcoming=upcoming(ctx),
    )


def upcoming(ctx: Context) -> Upcoming:
    """The next match, from what the caller drew. Raises ValueError where match id or seed is missing."""
    if not ctx.match_id or len(ctx.seed) != SEED_BYTES:
        raise ValueError(f"this action needs a match id and a seed of {SEED_BYTES} bytes")
    return Upcoming(ctx.match_id, ctx.seed)


def create(draft: Draft, action: CreateRoom) -> None:
    """Tell what `empty_room` made, and seat people and bots. Raises RoomRefusal (INVALID_FIELD, NO_SUCH_SEAT,
    SEAT_TAKEN)."""
    draft.tell(RoomCreated(ruleset=ruleset_choice(draft.room), settings=draft.room.settings))
    tell_commitment(draft)
    for person in action.people:
        if draft.room.seat_of(person.player) is not None:
            raise RoomRefusal(
                RoomReason.INVALID_FIELD, field="people", value=person.player, expected="each player once"
            )
        sit_down(draft, free_number(draft, person.seat), person.player, person.name)
    for _ in range(action.bots):
        seat_bot(draft, free_number(draft, None), action.bot_level)


def tell_commitment(draft: Draft) -> None:
    """Publish the commitment of the next match."""
    ahead = draft.room.upcoming
    draft.tell(SeedCommitted(match_id=ahead.match_id, commitment=commit(ahead.seed)))


def ruleset_choice(room: Room) -> RulesetChoice:
    """The room's ruleset as events and views carry it."""
    return RulesetChoice(preset=room.preset, options=room.chosen)


def change_options(draft: Draft, action: ChangeOptions) -> None:
    """Raises RulesetError, RoomRefusal (INVALID_FIELD)."""
    room = draft.room
    ruleset = room.ruleset if action.preset is None else make_ruleset(action.preset, action.options)
    if action.preset is not None and room.match is not None and not room.match.preset:
        draft.change_match(preset=room.preset, options=room.options)  # its state is of no use under other rules
    default_seats = {"seats": 0} if action.preset is not None else {}
    settings = _settings(room.settings, {**default_seats, **action.settings}, ruleset, len(room.taken()))
    draft.change(preset=ruleset.preset, options=canonical_options(ruleset), settings=settings)
    resize(draft, settings.seats)
    draft.change_people(ready=False, contribution=b"")
    draft.change(ready_since=draft.version)
    draft.ask_anew()  # who had confirmed has to look at what is new
    draft.tell(OptionsChanged(ruleset=ruleset_choice(draft.room), settings=settings))


def _settings(old: RoomSettings, chosen: Mapping[str, Any], ruleset: Ruleset, taken: int) -> RoomSettings:
    """The settings with a number of seats that ruleset and taken seats allow."""
    settings = change_settings(old, chosen)
    least, most = max(ruleset.min_seats, taken), ruleset.max_seats
    seats = settings.seats or max(min(most, DEFAULT_SEATS), least)
    if not least <= seats <= most:
        expected = f"{least} to {most}" if least <= most else f"at most {most} people and bots"
        raise RoomRefusal(RoomReason.INVALID_FIELD, field="settings.seats", value=seats, expected=expected)
    return replace(settings, seats=seats)
