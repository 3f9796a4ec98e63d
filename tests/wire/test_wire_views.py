"""A view says on the wire what it says in the rules, and nothing more."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maumau.v1 import events_pb2, room_pb2

from services.rules import actions
from services.rules import views as game
from services.rules.bots.levels import BotLevel
from services.rules.cards import Card
from services.rules.events import MatchEndCause, MatchEnded, Meld
from services.rules.fairness import DealProof
from services.rules.outcome import Outcome
from services.rules.registry import GAMES
from services.rules.room.events import RulesetChoice
from services.rules.room.settings import RoomSettings
from services.rules.room.state import RoomPhase
from services.rules.room.views import MatchView, RoomView, SeatView
from services.rules.ruleset import make_ruleset
from services.wire.actions import action_message
from services.wire.cards import card_message
from services.wire.events import event_message
from services.wire.rulesets import ruleset_message
from services.wire.settings import read_settings, settings_message
from services.wire.views import clock_message, game_message, outcome_message, room_message, seat_message
from tests.wire.wire_values import OTHER_NAMES, of, says, struct

PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]
MELD = struct(Meld, canasta=st.sampled_from(["none", "dirty", "clean"]))


class StoredClock(NamedTuple):
    now: int = 1_700_000_000_123
    turn_at: int = 1_700_000_000_000
    banks: tuple[int, ...] = (60_000, 0)
    deadline: int = 1_700_000_030_000
    kind: int = 1


@st.composite
def tranca_views(draw: st.DrawFn, seats: int) -> game.TrancaView:
    def by_side(kind: Any) -> tuple[Any, ...]:
        return draw(st.tuples(of(kind), of(kind)))

    view: game.TrancaView = draw(struct(game.TrancaView, melds=st.lists(MELD, max_size=3).map(tuple)))
    changed: game.TrancaView = msgspec.structs.replace(
        view,
        hand_sizes=(11,) * seats,
        scores=by_side(int),
        red_threes=by_side(tuple[Card, ...]),
        pozzetto_taken=by_side(int | None),
        pozzetto_used=by_side(bool),
    )
    return changed


ROOM_VIEWS = struct(
    RoomView,
    ruleset=st.sampled_from(PRESETS).map(lambda preset: RulesetChoice(preset=preset, options={})),
    legal=st.lists(st.sampled_from([actions.Draw(), actions.Pass(), actions.Accuse(1)]), max_size=3).map(tuple),
    penal=st.lists(st.just(actions.Call(actions.Word.MAU)), max_size=1).map(tuple),
    match=st.none() | struct(MatchView, game=struct(game.SheddingView) | tranca_views(4)),
)


def same_cards(message: Any, cards: Any) -> bool:
    return list(message) == [card_message(card) for card in cards]


@settings(max_examples=40)
@given(struct(game.SheddingView))
def test_a_shedding_view_says_the_same_on_the_wire(view: game.SheddingView) -> None:
    message = game_message(view)
    assert isinstance(message, room_pb2.SheddingView)
    assert says(message, view)


def test_the_contract_has_no_field_of_a_view_that_the_rules_lack() -> None:
    named = {OTHER_NAMES.get(field.name, field.name) for field in msgspec.structs.fields(game.SheddingView)}
    assert named == {field.name for field in room_pb2.SheddingView.DESCRIPTOR.fields}


@pytest.mark.parametrize("seats", [2, 4])
@settings(max_examples=40)
@given(data=st.data())
def test_a_tranca_view_says_the_same_on_the_wire(seats: int, data: st.DataObject) -> None:
    view = data.draw(tranca_views(seats))
    message = game_message(view)
    assert isinstance(message, room_pb2.TrancaView)
    for name in ("round", "dealer", "turn", "stock_size", "discard_size", "pozzetti"):
        assert getattr(message, name) == getattr(view, name)
    assert message.phase == view.phase.value
    assert list(message.hand_sizes) == list(view.hand_sizes)
    assert same_cards(message.hand, view.hand)
    assert same_cards(message.discard, view.discard)
    assert message.HasField("discard_top") is (view.discard_top is not None)
    assert all(says(laid, meld) for laid, meld in zip(message.melds, view.melds, strict=True))
    assert message.HasField("last_round") is (view.last_round is not None)
    assert view.last_round is None or says(message.last_round, view.last_round)
    for number, side in enumerate(message.partnerships):
        assert list(side.seats) == [seat for seat in range(seats) if seat % 2 == number]
        assert side.score == view.scores[number]
        assert same_cards(side.red_threes, view.red_threes[number])
        assert (side.pozzetto_seat if side.HasField("pozzetto_seat") else None) == view.pozzetto_taken[number]
        assert side.pozzetto_used == view.pozzetto_used[number]


@settings(max_examples=40)
@given(ROOM_VIEWS)
def test_a_room_says_the_same_on_the_wire(view: RoomView) -> None:
    message = room_message(view, StoredClock(), connected=frozenset({1}), spectators=3, invite_code="AB", created_ms=9)
    assert (message.room_id, message.version, message.host_player_id) == (view.room_id, view.version, view.host)
    assert message.state == view.phase.value
    assert message.ruleset == ruleset_message(make_ruleset(view.ruleset.preset))
    assert message.settings == settings_message(view.settings)
    assert (message.own_seat if message.HasField("own_seat") else None) == view.own_seat
    assert (message.commitment, message.next_match_id) == (view.commitment or b"", view.next_match_id or "")
    assert list(message.legal.actions) == [action_message(action) for action in view.legal]
    assert list(message.legal.penal) == [action_message(action) for action in view.penal]
    assert message.clock == clock_message(StoredClock())
    assert (message.spectators, message.invite_code, message.created.nanos) == (3, "AB", 9_000_000)
    assert list(message.seats) == [seat_message(seat, number == 1) for number, seat in enumerate(view.seats)]
    assert bool(message.match_number or message.match_id or message.WhichOneof("game")) is (view.match is not None)
    if view.match is not None:
        tells_the_match(message, view.match)


def tells_the_match(message: room_pb2.RoomView, match: MatchView) -> None:
    assert (message.match_number, message.match_id) == (match.number, match.proof.match_id)
    assert says(message.proof, match.proof)
    assert (message.unrated, message.seed) == (match.unrated, match.seed or b"")
    assert [(entry.round, tuple(entry.points)) for entry in message.rounds] == list(enumerate(match.points, 1))
    assert message.HasField("outcome") is (match.outcome is not None)
    shown = message.shedding if isinstance(match.game, game.SheddingView) else message.tranca
    assert shown == game_message(match.game)
    if match.outcome is not None:
        ended = message.outcome
        assert (tuple(ended.scores), tuple(ended.places), tuple(ended.winners)) == (
            match.outcome.scores,
            match.outcome.places,
            match.outcome.winners,
        )
        assert ended.cause == match.outcome.cause.value


def test_every_field_of_a_room_can_be_filled() -> None:
    proof = DealProof(commitment=b"c", match_id="m", ruleset_hash=b"h", seats=2, dealer=0, contributions=(b"", b"x"))
    full: dict[str, Any] = {"points": ((5, 0),), "scores": (5, 0), "round": 1, "first_version": 4, "unrated": True}
    outcome = Outcome(MatchEndCause.TARGET_REACHED, (5, 0), (1, 2), (0,), 1)
    seat = SeatView(
        player="p", name="Ada", level=None, ready=True, round_ready=True, played_by_bot=True, deserted=True, muted=True
    )
    shown = game.TrancaView(
        phase=game.Phase.DRAW, round=1, dealer=0, turn=1, hand=(), hand_sizes=(11, 11), stock_size=60, discard_top=None,
        discard_size=0, discard=(), melds=(), red_threes=((), ()), pozzetti=2, pozzetto_taken=(None, None),
        pozzetto_used=(False, False), scores=(0, 0), last_round=None,
    )  # fmt: skip
    view = RoomView(
        room_id="r", version=9, phase=RoomPhase.FINISHED, ruleset=RulesetChoice(preset=PRESETS[0], options={}),
        settings=RoomSettings(), host="p", seats=(seat, None), own_seat=0, commitment=b"c", next_match_id="n",
        match=MatchView(number=1, proof=proof, outcome=outcome, seed=b"s", game=shown, **full),
        legal=(actions.DrawStock(),), penal=(),
    )  # fmt: skip
    message = room_message(view, StoredClock(), spectators=1, invite_code="AB", created_ms=1)
    unset = {field.name for field in room_pb2.RoomView.DESCRIPTOR.fields} - {f.name for f, _ in message.ListFields()}
    assert unset == {"shedding"}
    assert {f.name for f, _ in seat_message(seat, True).ListFields()} == {
        field.name for field in room_pb2.Seat.DESCRIPTOR.fields
    } - {"bot_level"}


def test_a_seat_is_free_a_person_or_a_bot() -> None:
    bot = SeatView(
        player="", name="Bot", level=BotLevel.SEARCH, ready=True, round_ready=False, played_by_bot=False,
        deserted=False, muted=False,
    )  # fmt: skip
    person = msgspec.structs.replace(bot, player="p", level=None)
    assert seat_message(None, False) == room_pb2.Seat(kind=events_pb2.SEAT_KIND_FREE)
    assert (seat_message(bot, False).kind, seat_message(bot, False).bot_level) == (events_pb2.SEAT_KIND_BOT, 3)
    assert (seat_message(person, True).kind, seat_message(person, True).bot_level) == (events_pb2.SEAT_KIND_PERSON, 0)


@given(of(RoomSettings))
def test_settings_come_back_as_they_were_written(chosen: RoomSettings) -> None:
    assert RoomSettings(**read_settings(settings_message(chosen))) == chosen


def test_an_outcome_says_what_its_event_said() -> None:
    event = MatchEnded(cause=MatchEndCause.TARGET_REACHED, scores=(3, 1), places=(1, 2), winners=(0,))
    assert (
        outcome_message(Outcome(MatchEndCause.TARGET_REACHED, (3, 1), (1, 2), (0,), 4))
        == event_message(event).match_ended
    )
