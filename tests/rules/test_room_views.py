"""What a viewer learns of a room, and what is stored of it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from services.rules import engine
from services.rules.actions import Play
from services.rules.bots.levels import BotLevel
from services.rules.cards import Card
from services.rules.fairness import commit
from services.rules.room import actions as a
from services.rules.room.codec import UnknownRevisionError, UnknownSchemaError, decode, encode
from services.rules.room.journal import decode_entry, encode_action, encode_entry
from services.rules.room.settings import Visibility
from services.rules.room.state import ENGINE_REVISION, SCHEMA, Room, RoomPhase
from services.rules.room.views import room_view, view_events
from tests.rules.rooms import ANN, BOB, CLOCK, EVE, Stage


def sent(room: Room, viewer: int | None) -> bytes:
    return msgspec.msgpack.encode(room_view(room, viewer), enc_hook=Card.text)


def test_a_seat_sees_its_own_hand_and_its_own_actions() -> None:
    stage = Stage().start()
    for seat in range(3):
        view = room_view(stage.now, seat)
        assert view.match is not None
        assert view.match.game == engine.view(stage.match.state, seat)
        assert view.own_seat == seat
        assert bool(view.legal) == (seat == stage.turn)
        assert view.legal == tuple(engine.legal_actions(stage.match.state, seat))


def test_a_spectator_sees_public_cards_and_no_actions() -> None:
    stage = Stage().start()
    view = room_view(stage.now, None)
    assert view.match is not None
    assert view.match.game.hand == ()
    assert view.match.game.hand_sizes == (5, 5, 5)
    assert view.legal == view.penal == ()


def test_what_others_send_for_the_deal_is_not_shown_before_the_start() -> None:
    stage = Stage()
    stage.do(BOB, a.SetReady(True, b"secret of bob"))
    assert b"secret of bob" not in sent(stage.now, 0)
    assert room_view(stage.now, 0).commitment == commit(stage.now.upcoming.seed)
    stage.start()
    view = room_view(stage.now, 0)
    assert view.match is not None
    assert view.match.proof.contributions[1] == b"bob"
    assert view.commitment is None


def test_the_seed_is_shown_when_the_match_is_over_and_the_next_one_is_not() -> None:
    stage = Stage().start()
    seed = stage.match.seed
    assert seed not in sent(stage.now, 0)
    stage.do(a.Operator(), a.AbortMatch())
    assert seed in sent(stage.now, None)
    stage.do(ANN, a.Rematch())
    assert stage.now.upcoming.seed not in sent(stage.now, 0)
    assert room_view(stage.now, 0).commitment == commit(stage.now.upcoming.seed)


def test_after_the_match_a_newcomer_on_a_seat_does_not_see_the_hand_that_was_there() -> None:
    stage = Stage(settings={"visibility": Visibility.PUBLIC}).start()
    stage.do(a.Operator(), a.AbortMatch())
    stage.do(BOB, a.LeaveSeat())
    stage.do(ANN, a.Rematch())
    stage.do(a.Player("dan"), a.TakeSeat("Dan", 1))
    view = room_view(stage.now, 1)
    assert view.match is not None
    assert view.match.game.hand == ()


def test_seats_show_who_plays_them_and_how() -> None:
    stage = Stage(bots=1, bot_level=BotLevel.RANDOM).start()
    seats = room_view(stage.now, None).seats
    assert [seat and (seat.player, seat.level, seat.played_by_bot) for seat in seats] == [
        ("ann", None, False),
        ("bob", None, False),
        ("cid", None, False),
        ("", BotLevel.RANDOM, False),
    ]
    stage.do(BOB, a.LeaveSeat())
    left = room_view(stage.now, None).seats[1]
    assert left is not None
    assert left.deserted
    assert left.played_by_bot


def test_between_rounds_there_is_nothing_to_act_on() -> None:
    stage = Stage().start().until_phase(RoomPhase.PAUSE)
    view = room_view(stage.now, 0)
    assert view.legal == ()
    assert view.match is not None
    assert view.match.game.last_round is not None
    assert view.match.points == stage.match.points


def test_every_viewer_gets_every_event_in_the_form_for_that_viewer() -> None:
    stage = Stage().start()
    events = stage.last.events
    for viewer in (None, 0, 1, 2):
        seen = view_events(stage.now, events, viewer)
        assert [type(event) for event in seen] == [type(event) for event in events]
        faces = msgspec.msgpack.encode(seen, enc_hook=Card.text)
        hidden = [seat for seat in range(3) if seat != viewer]
        for seat in hidden:
            for card in engine.view(stage.match.state, seat).hand:
                assert card.text().encode() not in faces


# Stored forms.


def test_a_stored_room_starts_with_its_schema_and_is_small() -> None:
    stage = Stage(bots=1).start()
    stored = encode(stage.now)
    assert msgspec.msgpack.decode(stored)[0] == SCHEMA
    assert len(stored) < 1_000


def test_a_room_of_a_newer_release_is_left_alone() -> None:
    stored = bytearray(encode(Stage().now))
    stored[1 if stored[0] < 0xDC else 3] = SCHEMA + 1
    with pytest.raises(UnknownSchemaError) as found:
        decode(bytes(stored))
    assert found.value.schema == SCHEMA + 1


def test_a_room_of_a_newer_engine_is_left_alone() -> None:
    room = replace(Stage().now, revision=ENGINE_REVISION + 1)
    with pytest.raises(UnknownRevisionError) as found:
        decode(encode(room))
    assert found.value.revision == ENGINE_REVISION + 1


@pytest.mark.parametrize("wrong", [b"", b"\x00", b"\x91\x01", b"\x93\x01\x01\x01", b"room"])
def test_bytes_that_are_no_room_are_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a room|schema"):
        decode(wrong)


@pytest.mark.parametrize("wrong", [b"", b"\x00", b"\x93\x91\xa5Clock\x91\xa4Nope\x90", b"\x93\x90\x90\x90", b"\xff"])
def test_bytes_that_are_no_log_entry_are_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="not a log entry"):
        decode_entry(wrong)


def test_entries_keep_cards_choices_and_options() -> None:
    stage = Stage(settings={"visibility": Visibility.PUBLIC}, options={"effects": {"A": "skip"}})
    stage.do(ANN, a.ChangeOptions("uno", {"rule7": "swap"}, {"visibility": Visibility.PRIVATE}))
    entry = decode_entry(encode_entry(ANN, a.ChangeOptions(settings={"visibility": Visibility.PUBLIC}), []))
    assert entry.action == a.ChangeOptions(settings={"visibility": Visibility.PUBLIC})
    hand = engine.view(Stage().start().match.state, 0).hand
    play = a.Act(Play(hand[0]))
    assert decode_entry(encode_entry(a.Bot(2), play, [])) == (a.Bot(2), play, [])
    assert encode_action(play) == encode_action(a.Act(Play(hand[0])))
    assert encode_action(play) != encode_action(a.Act(Play(hand[1])))


def test_a_room_goes_on_from_its_stored_form_as_if_nothing_had_been() -> None:
    stage = Stage().start()
    for _ in range(60):
        if stage.now.phase is RoomPhase.PAUSE:
            stage.fire(stage.last.clock.pending[0].kind)
            continue
        other = Stage.of(decode(encode(stage.now)))
        seat = stage.turn
        action = a.Act(stage.sensible(seat))
        first, second = stage.do(stage.player(seat), action), other.do(stage.player(seat), action)
        assert encode(first.room) == encode(second.room)
        assert first.events == second.events
        assert first.clock == second.clock
    stage.do(CLOCK, a.CreditTime(0))


def test_who_came_to_a_larger_table_after_the_match_may_still_look_when_it_is_closed() -> None:
    """There is a seat now that the match had not."""
    stage = Stage("tranca", people="ann bob cid dan").start()
    stage.do(a.Operator(), a.AbortMatch())
    stage.do(ANN, a.Rematch())
    stage.do(ANN, a.ChangeOptions("uno", {}, {"seats": 5}))
    stage.do(EVE, a.TakeSeat("Eve", invite=1))
    stage.do(a.Operator(), a.CloseRoom("so"))
    view = room_view(stage.now, 4)
    assert view.match is not None
    assert view.match.game == engine.view(stage.match.state, None)
