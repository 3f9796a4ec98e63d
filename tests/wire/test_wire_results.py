"""Results, replays and list lines say what the room says."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from maumau.v1 import events_pb2, room_pb2, scoring_pb2

from services.rules import actions, events
from services.rules.cards import Rank, Suit, card
from services.rules.registry import GAMES
from services.rules.room import actions as room
from services.rules.room.settings import RoomSettings
from services.rules.room.state import ENGINE_REVISION, SCHEMA, Room, RoomPhase, Seat, Upcoming
from services.rules.room.step import MatchResult, ResultSeat
from services.rules.ruleset import make_ruleset
from services.wire.actions import action_message
from services.wire.events import event_message
from services.wire.results import replay_step, result_message
from services.wire.summaries import summary_message
from services.wire.updates import actor_message
from tests.wire.wire_values import says, struct

PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]
RESULTS = struct(MatchResult, preset=st.sampled_from(PRESETS), options=st.just("{}"))


@settings(max_examples=30)
@given(RESULTS)
def test_a_result_tells_scoring_everything(result: MatchResult) -> None:
    request = result_message(result, 1_000, 2_000)
    record = request.match
    assert (record.match_id, record.room_id, record.unrated) == (result.match_id, result.room_id, result.unrated)
    assert record.ruleset.hash == make_ruleset(result.preset).hash
    assert tuple(record.scores) == result.scores
    assert [tuple(entry.points) for entry in record.rounds] == list(result.points)
    assert record.cause == result.cause.value
    assert (record.started.seconds, record.ended.seconds) == (1, 2)
    assert says(record.proof, result.proof)
    assert (record.seed, record.engine_revision) == (result.seed, result.engine_revision)
    assert (record.first_version, record.last_version) == (result.first_version, result.last_version)
    for seat, told, counts in zip(result.seats, record.seats, request.counts, strict=True):
        tells_the_seat(seat, told)
        assert counts.rounds == len(result.points)
        for name in ("rounds_won", "calls_missed", "accusations_right", "accusations_wrong"):
            assert getattr(counts, name) == getattr(seat.counts, name)


def tells_the_seat(seat: ResultSeat, told: scoring_pb2.MatchSeat) -> None:
    assert (told.kind == events_pb2.SEAT_KIND_BOT) is seat.is_bot
    assert (told.player_id, told.display_name, told.partnership) == (seat.player, seat.name, seat.side)
    assert (told.place, told.winner, told.deserted) == (seat.place, seat.winner, seat.deserted)
    assert (told.turns, told.bot_turns) == (seat.counts.turns, seat.counts.bot_turns)


@settings(max_examples=30)
@given(RESULTS)
def test_a_result_without_known_times_has_none(result: MatchResult) -> None:
    record = result_message(result, 0, 0).match
    assert not record.HasField("started")
    assert not record.HasField("ended")


def test_a_step_of_a_replay_shows_all_cards() -> None:
    seven = card(Suit.CLUBS, Rank.SEVEN)
    drawn = events.CardsDrawn(seat=1, count=1, cards=(seven,), cause=events.DrawCause.TURN)
    step = replay_step(8, 1_500, actor_message(room.Bot(1)), room.Act(actions.Draw()), [drawn])
    assert (step.version, step.time.ToMilliseconds(), step.actor.seat) == (8, 1_500, 1)
    assert step.action == action_message(actions.Draw())
    assert list(step.events) == [event_message(drawn)]
    assert len(step.events[0].cards_drawn.cards) == 1


def test_a_step_that_only_the_server_takes_is_told_by_its_events() -> None:
    step = replay_step(8, 0, actor_message(room.Operator()), room.AbortMatch(), [])
    assert not step.HasField("action")


def test_a_line_of_a_list_counts_free_seats_and_people() -> None:
    person = Seat("p1", "Ada", None, 1)
    value = Room(
        schema=SCHEMA,
        revision=ENGINE_REVISION,
        id="r1",
        version=3,
        phase=RoomPhase.OPEN,
        preset=PRESETS[0],
        options=json.dumps({}),
        settings=RoomSettings(title="Friends"),
        host="p1",
        seats=(person, None, None),
        upcoming=Upcoming("m1", bytes(32)),
    )
    line = summary_message(value, 5_000)
    assert (line.room_id, line.title, line.ruleset_label) == ("r1", "Friends", PRESETS[0])
    assert (line.seats, line.free_seats, line.people) == (3, 2, 1)
    assert line.state == room_pb2.ROOM_STATE_OPEN
    assert line.created.seconds == 5
    assert line.ruleset.hash == make_ruleset(PRESETS[0]).hash
