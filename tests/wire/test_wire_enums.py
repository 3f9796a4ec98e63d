"""Enums have the same numbers in the rules, in stored rooms and in the contract."""

from __future__ import annotations

from enum import Enum

import pytest
from google.protobuf.descriptor import EnumDescriptor
from maumau.v1 import cards_pb2, events_pb2, room_pb2, settings_pb2

from services.rules.actions import Word
from services.rules.bots.levels import BotLevel
from services.rules.cards import Rank, Suit
from services.rules.events import DrawCause, MatchEndCause, RoundEndCause
from services.rules.room.clock import TimerKind
from services.rules.room.settings import Spectators, Visibility
from services.rules.room.state import RoomPhase
from services.rules.views import Phase
from services.wire.cards import WORD

NUMBERED: list[tuple[type[Enum], EnumDescriptor]] = [
    (Suit, cards_pb2.Suit.DESCRIPTOR),
    (Rank, cards_pb2.Rank.DESCRIPTOR),
    (DrawCause, events_pb2.DrawCause.DESCRIPTOR),
    (RoundEndCause, events_pb2.RoundEndCause.DESCRIPTOR),
    (MatchEndCause, events_pb2.MatchEndCause.DESCRIPTOR),
    (Phase, room_pb2.Phase.DESCRIPTOR),
    (RoomPhase, room_pb2.RoomState.DESCRIPTOR),
    (TimerKind, room_pb2.DeadlineKind.DESCRIPTOR),
    (BotLevel, settings_pb2.BotLevel.DESCRIPTOR),
    (Spectators, settings_pb2.Spectators.DESCRIPTOR),
    (Visibility, settings_pb2.Visibility.DESCRIPTOR),
]


@pytest.mark.parametrize(("kind", "contract"), NUMBERED, ids=lambda part: getattr(part, "__name__", ""))
def test_an_enum_has_the_names_and_numbers_of_the_contract(kind: type[Enum], contract: EnumDescriptor) -> None:
    prefix = contract.values[0].name.removesuffix("UNSPECIFIED")
    published = {value.name.removeprefix(prefix): value.number for value in contract.values if value.number}
    assert {member.name: member.value for member in kind} == published


@pytest.mark.parametrize("word", Word)
def test_a_word_has_the_name_of_the_contract(word: Word) -> None:
    assert WORD.write(word) == cards_pb2.Word.Value(f"WORD_{word.name}")
