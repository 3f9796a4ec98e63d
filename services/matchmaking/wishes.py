"""What a ticket asks for: read from the request, kept with the ticket, shown again."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from google.protobuf.duration_pb2 import Duration
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import rules_pb2

from services.matchmaking.matching import Waiting
from services.rules.ruleset import Ruleset, make_ruleset
from services.store.tickets import Ticket
from services.wire.errors import invalid_field, refusal
from services.wire.rulesets import read_ruleset, ruleset_message
from services.wire.times import timestamp

LONGEST_REGION: Final = 32
LONGEST_PATIENCE_MS: Final = 600_000
LIKED_SEATS: Final = 4


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """A checked request. `ruleset` is an encoded message; `ruleset_hash` tells rulesets apart."""

    ruleset: bytes
    ruleset_hash: bytes
    seats: int
    region: str
    patience_ms: int
    pace: int

    @property
    def digest(self) -> bytes:
        """Equal for equal wishes."""
        return hashlib.sha256(encode_wish(self)).digest()


_decode = msgspec.msgpack.Decoder(Wish).decode
encode_wish = msgspec.msgpack.Encoder().encode


def read_wish(request: pb.TicketRequest, patience_ms: int) -> Wish:
    """The wish in a request; `patience_ms` is the default. Raises Refusal (INVALID_FIELD, PARTY_NOT_FOUND) and
    RulesetError."""
    if not request.HasField("ruleset"):
        raise invalid_field("request.ruleset", "", "a ruleset with a preset")
    choice = read_ruleset(request.ruleset, "request.ruleset")
    ruleset = make_ruleset(choice.preset, choice.options)
    if request.party_id:
        raise refusal("PARTY_NOT_FOUND")
    if len(request.region) > LONGEST_REGION or not request.region.isprintable():
        raise invalid_field("request.region", request.region, f"at most {LONGEST_REGION} printable characters")
    if request.pace not in pb.Pace.values():
        raise invalid_field("request.pace", request.pace, "a Pace")
    return Wish(
        ruleset=ruleset_message(ruleset).SerializeToString(deterministic=True),
        ruleset_hash=ruleset.hash,
        seats=_seats(request.seats, ruleset),
        region=request.region,
        patience_ms=_patience(request) if request.HasField("patience") else patience_ms,
        pace=request.pace,
    )


def _seats(asked: int, ruleset: Ruleset) -> int:
    if not asked:
        return max(ruleset.min_seats, min(ruleset.max_seats, LIKED_SEATS))
    if not ruleset.min_seats <= asked <= ruleset.max_seats:
        raise invalid_field("request.seats", asked, f"{ruleset.min_seats} to {ruleset.max_seats}")
    return asked


def _patience(request: pb.TicketRequest) -> int:
    patience = request.patience.seconds * 1000 + request.patience.nanos // 1_000_000
    if not 0 <= patience <= LONGEST_PATIENCE_MS:
        raise invalid_field("request.patience", f"{patience / 1000:g} s", f"0 to {LONGEST_PATIENCE_MS // 1000} s")
    return patience


def wish_of(ticket: Ticket) -> Wish:
    """What this ticket asks for."""
    return _decode(ticket.wish)


def waiting_of(ticket: Ticket) -> Waiting:
    """The ticket as the matching sees it."""
    wish = wish_of(ticket)
    table = wish.ruleset_hash + bytes((wish.seats,))
    return Waiting(ticket.id, ticket.player, table, wish.seats, wish.region, ticket.created_ms, wish.patience_ms)


def ticket_message(ticket: Ticket) -> pb.Ticket:
    """The ticket for its player. No honest estimate of the wait can be given, so there is none."""
    wish = wish_of(ticket)
    patience = Duration()
    patience.FromMilliseconds(wish.patience_ms)
    return pb.Ticket(
        ticket_id=ticket.id,
        state=pb.TicketState.ValueType(int(ticket.state)),
        request=pb.TicketRequest(
            ruleset=rules_pb2.Ruleset.FromString(wish.ruleset),
            seats=wish.seats,
            region=wish.region,
            patience=patience,
            pace=pb.Pace.ValueType(wish.pace),
        ),
        created=timestamp(ticket.created_ms),
        assignment=None if ticket.room is None else pb.Assignment(room_id=ticket.room, seats=[ticket.seat]),
        player_ids=[ticket.player],
    )
