"""The view that a client keeps by events is the one that the server would send, checked against the real rules."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from maumau import Unreadable, table
from maumau.v1 import cards_pb2, events_pb2, room_pb2

from tests.clients.real_rooms import moments

PRESETS = [
    ("mau-mau-32", 4),
    ("mau-mau-32", 2),
    ("mau-mau-brasil", 5),
    ("uno", 4),
    ("uno-mattel", 3),
    ("uno-casa", 6),
    ("tranca", 4),
    ("tranca-jogatina", 4),
]


def difference(view: room_pb2.RoomView, expected: room_pb2.RoomView) -> dict[str, tuple[object, object]]:
    mine, theirs = (json_format.MessageToDict(each, preserving_proto_field_name=True) for each in (view, expected))
    for each in (mine, theirs):
        for game in ("shedding", "tranca"):
            each.update({f"{game}.{key}": value for key, value in each.pop(game, {}).items()})
    return {key: (mine.get(key), theirs.get(key)) for key in sorted(mine | theirs) if mine.get(key) != theirs.get(key)}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("preset", "seats"), PRESETS)
def test_events_lead_to_the_view_of_the_server(preset: str, seats: int, seed: int) -> None:
    follow(preset, seats, seed, {})


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("window", ["next_action", "next_discard_or_pass", "round"])
@pytest.mark.parametrize("preset", ["mau-mau-32", "mau-mau-brasil", "uno"])
def test_a_missed_call_is_forgiven_when_the_ruleset_says_so(preset: str, window: str, seed: int) -> None:
    follow(preset, 4, seed, {"call.window": window})


HOUSE_RULES: dict[str, tuple[str, int, dict[str, object]]] = {
    "a wild thrown in names a colour": ("uno-mattel", 4, {"jumpIn.mode": "identical"}),
    "a wild thrown in leaves the colour": ("uno", 4, {"jumpIn.mode": "identical"}),
    "a jack thrown in leaves the suit": ("mau-mau-brasil", 6, {"jumpIn.mode": "identical"}),
    "other ranks make draw": ("mau-mau-32", 3, {"effects": {"8": "draw", "K": "draw", "J": "wish"}}),
    "single cards make draw": ("mau-mau-32", 3, {"effects.byCard": {"7H": "take3", "7S": "none", "KH": "take2"}}),
    "a skip is passed on": ("mau-mau-32", 3, {"skip.counter": True}),
    "a last seven is answered": ("mau-mau-32", 3, {"finish.sevenAnswer": True, "match.target": "rounds:9"}),
    "the last cards are given away": ("uno", 3, {"rule2": "give", "rule2.mayEmptyHand": True}),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rule", HOUSE_RULES)
def test_house_rules_lead_to_the_view_of_the_server(rule: str, seed: int) -> None:
    preset, seats, options = HOUSE_RULES[rule]
    follow(preset, seats, seed, options)


def follow(preset: str, seats: int, seed: int, options: Mapping[str, object]) -> None:
    """Plays a match and holds each view that is certain against the server's."""
    uncertain = versions = 0
    for moment in moments(preset, seats, seed, viewers=["p0", "p1", "spectator"], options=dict(options), limit=350):
        reduced = table.reduce(moment.before, moment.update)
        versions += 1
        if not reduced.certain:
            uncertain += 1
            continue
        found = difference(reduced.view, moment.after)
        kinds = [event.WhichOneof("event") for event in moment.update.events]
        assert not found, f"{moment.viewer} after {kinds} of version {moment.update.version}: {found}"
    assert versions > 50
    assert uncertain <= 5 + versions * 0.02, f"{uncertain} of {versions}"


@pytest.mark.parametrize("cause", ["ABORTED", "DESERTED", "VERSION_LIMIT"])
def test_a_match_that_the_room_ended_leaves_the_game_where_it_was(cause: str) -> None:
    view = room_pb2.RoomView(version=4, state=room_pb2.ROOM_STATE_PLAYING)
    view.tranca.phase = room_pb2.PHASE_DRAW
    ended = events_pb2.Event()
    ended.match_ended.cause = events_pb2.MatchEndCause.Value(f"MATCH_END_CAUSE_{cause}")
    after = table.reduce(view, room_pb2.Update(version=5, events=[ended])).view
    assert (after.state, after.tranca.phase) == (room_pb2.ROOM_STATE_FINISHED, room_pb2.PHASE_DRAW)


def test_who_may_contest_a_finish_is_named_in_the_order_of_play_as_the_server_does() -> None:
    view = room_pb2.RoomView(version=4, state=room_pb2.ROOM_STATE_PLAYING)
    view.ruleset.game = "mau-mau-32"
    view.shedding.hand_sizes.extend([5, 0, 3])
    view.shedding.calls.extend([cards_pb2.WORD_UNSPECIFIED] * 3)
    view.shedding.turn, view.shedding.direction = 1, 1
    view.shedding.top.rank = cards_pb2.RANK_JACK
    opened = events_pb2.Event()
    opened.contest_opened.seat = 1
    after = table.reduce(view, room_pb2.Update(version=5, events=[opened])).view
    assert after.shedding.phase == room_pb2.PHASE_CONTEST
    assert list(after.shedding.waiting) == [2, 0]


def test_a_call_made_before_a_won_challenge_stays_in_force() -> None:
    """The challenger's turn has not ended: it begins."""
    view = room_pb2.RoomView(version=4, state=room_pb2.ROOM_STATE_PLAYING)
    view.shedding.phase, view.shedding.turn, view.shedding.direction = room_pb2.PHASE_CHALLENGE, 1, 1
    view.shedding.hand_sizes.extend([4, 2, 3])
    view.shedding.calls.extend([cards_pb2.WORD_UNSPECIFIED, cards_pb2.WORD_UNO, cards_pb2.WORD_UNSPECIFIED])
    won = [events_pb2.Event(), events_pb2.Event()]
    won[0].challenged.seat, won[0].challenged.upheld = 1, True
    won[1].turn_started.seat = 1
    after = table.reduce(view, room_pb2.Update(version=5, events=won)).view
    assert after.shedding.calls[1] == cards_pb2.WORD_UNO
    assert after.shedding.phase == room_pb2.PHASE_PLAY


def numbered(kind: str, number: int) -> events_pb2.Event:
    """An event of this kind in which every number is `number` and every list holds it once."""
    event = events_pb2.Event()
    fill(getattr(event, kind), number)
    getattr(event, kind).SetInParent()
    return event


def fill(message: Message, number: int, depth: int = 2) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.type == field.TYPE_INT32:
            if field.is_repeated:
                getattr(message, field.name).append(number)
            else:
                setattr(message, field.name, number)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry and depth:
            inner = getattr(message, field.name)
            fill(inner.add() if field.is_repeated else inner, number, depth - 1)


@pytest.mark.parametrize("number", [3, 99, -1, -5, 2**31 - 1])
@pytest.mark.parametrize("game", ["shedding", "tranca", ""])
def test_what_a_room_cannot_have_is_a_typed_error_whatever_the_event(game: str, number: int) -> None:
    view = room_pb2.RoomView(room_id="room-1", version=4, own_seat=1, seats=[room_pb2.Seat()] * 2)
    if game:
        played = getattr(view, game)
        played.hand_sizes.extend([3, 3])
        if game == "shedding":
            played.calls.extend([cards_pb2.WORD_UNSPECIFIED] * 2)
    refused = set()
    for kind in (field.name for field in events_pb2.Event.DESCRIPTOR.oneofs[0].fields):
        try:
            after = table.reduce(view, room_pb2.Update(version=5, events=[numbered(kind, number)])).view
        except Unreadable:
            refused.add(kind)
        else:
            assert len(after.seats) <= table.MOST_SEATS
    assert {"ready_changed", "muted", "seat_handed_to_bot"} <= refused
    assert view.version == 4


def test_a_view_of_somebody_on_a_seat_that_is_not_there_is_a_typed_error() -> None:
    with pytest.raises(Unreadable, match="version 4 of room room-1"):
        table.check(room_pb2.RoomView(room_id="room-1", version=4, own_seat=2, seats=[room_pb2.Seat()] * 2))
