"""Ways to falsify a replay. Each changes a copy in place, by chance, and is something that a verifier has to find."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from google.protobuf.message import Message
from maumau.v1 import authority_pb2, cards_pb2, events_pb2

Replay = authority_pb2.GetReplayResponse
Tamper = Callable[[Replay, random.Random], None]

UNNOTICED: Final = frozenset(
    (
        *("seat_skipped", "direction_reversed", "turn_started", "debt_raised", "debt_lapsed", "left_exposed"),
        *("called", "called_falsely", "contest_opened", "reaction_opened", "silence_began", "silence_ended"),
        *("timed_out", "seat_handed_to_bot", "seat_taken_back", "time_credited", "round_ready"),
    )
)
"""Events without cards, not all of which can be missed without the rules; docs/fair-deals.md says so."""


def _flip(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :]


def seed(replay: Replay, chance: random.Random) -> None:
    replay.seed = _flip(replay.seed, chance)


def seed_and_commitment(replay: Replay, chance: random.Random) -> None:
    """Everywhere, so that only the cards betray it."""
    replay.seed = _flip(replay.seed, chance)
    replay.proof.commitment = hashlib.sha256(replay.seed).digest()
    _restate(replay)


def commitment(replay: Replay, chance: random.Random) -> None:
    replay.proof.commitment = _flip(replay.proof.commitment, chance)
    _restate(replay)


def seat_bytes(replay: Replay, chance: random.Random) -> None:
    """Everywhere, so that only the cards betray it."""
    seat = chance.randrange(replay.proof.seats)
    replay.proof.contributions[seat] = _flip(replay.proof.contributions[seat] or b"\0", chance)
    _restate(replay)


def first_dealer(replay: Replay, chance: random.Random) -> None:
    replay.proof.dealer = (replay.proof.dealer + 1) % replay.proof.seats
    _restate(replay)


def ruleset(replay: Replay, chance: random.Random) -> None:
    replay.ruleset = _flip(replay.ruleset, chance)


def _restate(replay: Replay) -> None:
    for event in _events(replay):
        if event.HasField("match_started"):
            event.match_started.proof.CopyFrom(replay.proof)
        elif event.HasField("match_finished"):
            event.match_finished.seed = replay.seed


def one_card(replay: Replay, chance: random.Random) -> None:
    """One card of one event becomes another one."""
    cards = [card for step in replay.steps for event in step.events for card in _cards(event)]
    card = chance.choice(cards)
    card.CopyFrom(chance.choice([other for other in cards if other != card]))


def two_cards_everywhere(replay: Replay, chance: random.Random) -> None:
    """Two faces change places in all events and actions: the story stays whole, but it is not the seed's."""
    cards = [card for step in replay.steps for card in _cards(step)]
    first = chance.choice(cards)
    one, other = _copy(first), _copy(chance.choice([card for card in cards if card != first]))
    for card in cards:
        if card in (one, other):
            card.CopyFrom(other if card == one else one)


def an_event_less(replay: Replay, chance: random.Random) -> None:
    """One that moves cards, or without which others cannot be."""
    places = [(step, n) for step in replay.steps for n, event in enumerate(step.events) if _is_missed(event)]
    step, number = chance.choice(places)
    del step.events[number]


def _is_missed(event: events_pb2.Event) -> bool:
    return event.WhichOneof("event") not in UNNOTICED


def a_version_less(replay: Replay, chance: random.Random) -> None:
    del replay.steps[chance.randrange(len(replay.steps))]


def points(replay: Replay, chance: random.Random) -> None:
    ended = chance.choice([event.round_ended for event in _events(replay) if event.HasField("round_ended")])
    ended.points[chance.randrange(len(ended.points))] += 5


def a_hand_more(replay: Replay, chance: random.Random) -> None:
    """Somebody draws a card that nobody dealt."""
    drawn = [event for event in _events(replay) if event.HasField("cards_drawn") and event.cards_drawn.count]
    dealt = [event.round_started for event in _events(replay) if event.HasField("round_started")]
    if drawn:
        about = chance.choice(drawn).cards_drawn
        about.cards.add().CopyFrom(about.cards[0])
        about.count += 1
    else:
        dealt[0].hands[0].cards.add().CopyFrom(dealt[0].hands[0].cards[0])


TAMPERS: Final[tuple[Tamper, ...]] = (
    *(seed, seed_and_commitment, commitment, seat_bytes, first_dealer, ruleset, one_card, two_cards_everywhere),
    *(an_event_less, a_version_less, points, a_hand_more),
)


def tampered(replay: Replay, tamper: Tamper, chance: random.Random) -> Replay:
    """A copy that is falsified in this way."""
    false = Replay()
    false.CopyFrom(replay)
    tamper(false, chance)
    return false


def _events(replay: Replay) -> Iterator[events_pb2.Event]:
    return (event for step in replay.steps for event in step.events)


def _cards(message: Any) -> Iterator[cards_pb2.Card]:
    """Every card in a message, however deep."""
    for field, value in message.ListFields():
        for part in value if field.is_repeated else [value]:
            if isinstance(part, cards_pb2.Card):
                yield part
            elif isinstance(part, Message):
                yield from _cards(part)


def _copy(message: Any) -> Any:
    copied = type(message)()
    copied.CopyFrom(message)
    return copied
