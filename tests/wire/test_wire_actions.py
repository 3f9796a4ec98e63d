"""Actions cross the wire both ways, and what makes no action is refused with the path of the field."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

import pytest
from google.protobuf.message import DecodeError
from grpc import StatusCode
from hypothesis import given
from hypothesis import strategies as st
from maumau.v1 import actions_pb2, cards_pb2, room_pb2, rules_pb2, settings_pb2

from services.rules import actions as game
from services.rules.bots.levels import BotLevel
from services.rules.cards import Rank, Suit, card
from services.rules.room import actions as room
from services.rules.room.settings import Spectators, Visibility
from services.wire.actions import action_field, action_message, read_action, room_action_message
from services.wire.errors import Refusal
from tests.wire.wire_values import of, struct

Action = actions_pb2.Action
SEVEN = cards_pb2.Card(suit=cards_pb2.SUIT_CLUBS, rank=cards_pb2.RANK_SEVEN)
NEVER_SENT = {"Act", "CreateRoom", "Timeout", "CreditTime", "AbortMatch", "CloseRoom"}
"""`Act` wraps an action of a game, the others are the server's alone."""

SAMPLES: dict[str, Action] = {
    "play": Action(play=Action.Play(card=SEVEN)),
    "play_many": Action(play_many=Action.PlayMany(cards=[SEVEN, SEVEN])),
    "jump_in": Action(jump_in=Action.JumpIn(card=SEVEN)),
    "call": Action(call=Action.Call(word=cards_pb2.WORD_MAU)),
    "choose": Action(choose=Action.Choose(suit=cards_pb2.SUIT_RED)),
    "lay_meld": Action(lay_meld=Action.LayMeld(cards=[SEVEN])),
    "add_to_meld": Action(add_to_meld=Action.AddToMeld(meld_id="m1", cards=[SEVEN])),
    "discard": Action(discard=Action.Discard(card=SEVEN)),
    "add_bot": Action(add_bot=Action.AddBot(level=settings_pb2.BOT_LEVEL_RANDOM)),
}
"""Actions that need something; all others may be empty."""


def sample(field: str) -> Action:
    if field in SAMPLES:
        return SAMPLES[field]
    action = Action()
    getattr(action, field).SetInParent()
    return action


def refused(action: Action) -> dict[str, str]:
    with pytest.raises(Refusal) as caught:
        read_action(action)
    assert caught.value.reason == "INVALID_FIELD"
    assert caught.value.code is StatusCode.INVALID_ARGUMENT
    assert [violation.field for violation in caught.value.violations] == [caught.value.metadata["field"]]
    return caught.value.metadata


@given(st.one_of([of(kind) for kind in get_args(game.Action)]))
def test_an_action_of_a_game_comes_back_as_it_was_written(action: Any) -> None:
    assert read_action(action_message(action)) == room.Act(action)
    assert room_pb2.LegalActions.FromString(action_field(action, 1)).actions == [action_message(action)]


CHANGES = struct(
    room.ChangeOptions,
    preset=st.sampled_from(["uno", "tranca"]),
    options=st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.booleans()
        | st.integers(-(2**31), 2**31 - 1)
        | st.text(max_size=8)
        | st.dictionaries(
            st.text(max_size=8), st.integers(-999_999_999, 999_999_999) | st.sampled_from(["skip", "+2"])
        ),
        max_size=3,
    ),
    settings=st.fixed_dictionaries(
        {},
        optional={
            "seats": st.integers(0, 10),
            "turn_seconds": st.integers(-5, 500),
            "visibility": st.sampled_from(Visibility),
            "spectators": st.sampled_from(Spectators),
            "chat": st.booleans(),
            "title": st.text(max_size=50),
        },
    ),
)


SENT = [kind for kind in get_args(room.RoomAction) if kind.__name__ not in NEVER_SENT]


@given(st.one_of([CHANGES if kind is room.ChangeOptions else of(kind) for kind in SENT]))
def test_an_action_of_a_room_comes_back_as_it_was_written(action: Any) -> None:
    written = room_action_message(action)
    assert written is not None
    name = action.name if isinstance(action, room.TakeSeat) else ""
    if isinstance(action, room.TakeSeat):
        action = room.TakeSeat(action.name, action.seat)
    assert read_action(written, name) == action


@pytest.mark.parametrize("field", [field.name for field in Action.DESCRIPTOR.fields])
def test_every_action_of_the_contract_is_read_and_written(field: str) -> None:
    written = room_action_message(read_action(sample(field), "Ada"))
    assert written == sample(field)


def test_what_only_the_server_does_has_no_public_form() -> None:
    assert room_action_message(room.AbortMatch()) is None


def test_the_caller_takes_a_seat_under_the_own_display_name() -> None:
    assert read_action(Action(take_seat=Action.TakeSeat(seat=0)), "Ada") == room.TakeSeat("Ada", 0)
    assert read_action(Action(take_seat=Action.TakeSeat()), "Ada") == room.TakeSeat("Ada", None)


def test_seat_0_as_a_target_is_not_the_same_as_no_target() -> None:
    assert read_action(Action(accuse=Action.Accuse(target=0))) == room.Act(game.Accuse(0))
    assert read_action(Action(accuse=Action.Accuse())) == room.Act(game.Accuse(None))


def test_an_empty_action_is_refused_with_all_that_it_could_be() -> None:
    metadata = refused(Action())
    assert metadata["field"] == "action"
    assert metadata["expected"].startswith("one of accept, accuse")


def test_a_card_without_rank_is_refused_by_its_path() -> None:
    metadata = refused(Action(play=Action.Play(card=cards_pb2.Card(suit=cards_pb2.SUIT_CLUBS))))
    assert metadata["field"] == "action.play.card.rank"


def test_a_missing_card_is_refused_by_its_path() -> None:
    assert refused(Action(discard=Action.Discard())) == {
        "field": "action.discard.card",
        "value": "",
        "expected": "a Card",
    }


def test_a_card_that_no_pack_has_is_refused_by_its_path_and_face() -> None:
    red_ace = cards_pb2.Card(suit=cards_pb2.SUIT_RED, rank=cards_pb2.RANK_ACE)
    metadata = refused(Action(play_many=Action.PlayMany(cards=[SEVEN, red_ace])))
    assert metadata["field"] == "action.play_many.cards[1]"
    assert metadata["value"] == "RED ACE"


@pytest.mark.parametrize(
    ("action", "field", "value"),
    [
        (Action(play=Action.Play(card=SEVEN, wish=77)), "action.play.wish", "77"),  # type: ignore[arg-type]
        (Action(play=Action.Play(card=SEVEN, call=9)), "action.play.call", "9"),  # type: ignore[arg-type]
        (Action(call=Action.Call()), "action.call.word", ""),
        (Action(choose=Action.Choose()), "action.choose.suit", ""),
        (Action(play=Action.Play(card=SEVEN, target=-1)), "action.play.target", "-1"),
        (Action(take_seat=Action.TakeSeat(seat=-1)), "action.take_seat.seat", "-1"),
        (Action(lay_meld=Action.LayMeld()), "action.lay_meld.cards", ""),
        (Action(lay_meld=Action.LayMeld(cards=[SEVEN] * 109)), "action.lay_meld.cards", "109 entries"),
        (Action(add_bot=Action.AddBot()), "action.add_bot.level", ""),
        (
            Action(change_options=Action.ChangeOptions(ruleset=rules_pb2.Ruleset())),
            "action.change_options.ruleset.preset",
            "",
        ),
        (
            Action(
                change_options=Action.ChangeOptions(
                    ruleset=rules_pb2.Ruleset(preset="uno", options={"stack": rules_pb2.OptionValue()})
                )
            ),
            "action.change_options.ruleset.options[stack]",
            "",
        ),
        (
            Action(change_options=Action.ChangeOptions(settings=settings_pb2.RoomSettings(visibility=9))),  # type: ignore[arg-type]
            "action.change_options.settings.visibility",
            "9",
        ),
    ],
)
def test_what_makes_no_action_is_refused_by_path_and_value(action: Action, field: str, value: str) -> None:
    metadata = refused(action)
    assert (metadata["field"], metadata["value"]) == (field, value)
    assert metadata["expected"]


@given(st.binary(max_size=60))
def test_any_readable_bytes_are_an_action_or_a_refusal(content: bytes) -> None:
    with suppress(DecodeError, Refusal):
        read_action(Action.FromString(content))


def test_an_action_that_the_seat_may_do_is_written_once_and_shared() -> None:
    first = action_message(game.Play(card(Suit.CLUBS, Rank.SEVEN), wish=Suit.HEARTS))
    assert action_message(game.Play(card(Suit.CLUBS, Rank.SEVEN), wish=Suit.HEARTS)) is first


def test_a_bot_is_added_with_its_level() -> None:
    action = Action(add_bot=Action.AddBot(level=settings_pb2.BOT_LEVEL_SEARCH, seat=2))
    assert read_action(action) == room.AddBot(BotLevel.SEARCH, 2)
