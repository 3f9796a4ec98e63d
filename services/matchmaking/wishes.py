"""What a ticket asks for: read from the request, kept with the ticket, shown again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec
from google.protobuf.duration_pb2 import Duration
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import rules_pb2

from services.matchmaking.matching.waiting import Waiting
from services.rules.ruleset import Ruleset, make_ruleset
from services.store.tickets import Member, Ticket
from services.wire.errors import invalid_field
from services.wire.rulesets import read_ruleset, ruleset_message
from services.wire.times import timestamp

LONGEST_REGION: Final = 32
LONGEST_PATIENCE_MS: Final = 600_000
LIKED_SEATS: Final = 4
PARTNERS: Final = 2
_PARTNERSHIP_GAME: Final = "tranca"


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """A checked request. `ruleset` is an encoded message; `ruleset_hash` tells rulesets apart; `is_preset` where
    nothing differs from the preset."""

    ruleset: bytes
    ruleset_hash: bytes
    game: str
    is_preset: bool
    seats: int
    region: str
    patience_ms: int
    pace: int
    party: str
    partners: bool

    @property
    def table(self) -> bytes:
        """Tickets with the same one may meet."""
        return table_of(self.ruleset_hash, self.seats)

    @property
    def sides(self) -> int:
        """2 where seats form partnerships, else 0."""
        return PARTNERS if _has_partners(self.game, self.seats) else 0

    def digest(self, players: Sequence[Member]) -> bytes:
        """Equal for equal wishes of the same players."""
        return hashlib.sha256(encode_wish(self) + _encode([member.player for member in players])).digest()


class About(msgspec.Struct, frozen=True, array_like=True):
    """What the matching has to know of a ticket's players: the mu of each, whom they blocked, whom they just met, and
    in which rooms."""

    ratings: tuple[float, ...]
    blocked: tuple[str, ...] = ()
    met: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()


_encode = encode_wish = encode_about = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Wish).decode
_decode_about = msgspec.msgpack.Decoder(About).decode


def read_wish(request: pb.TicketRequest, patience_ms: int, players: int) -> Wish:
    """The wish in a request of this many players; `patience_ms` is the default. Raises Refusal (INVALID_FIELD) and
    RulesetError."""
    if not request.HasField("ruleset"):
        raise invalid_field("request.ruleset", "", "a ruleset with a preset")
    choice = read_ruleset(request.ruleset, "request.ruleset")
    ruleset = make_ruleset(choice.preset, choice.options)
    if len(request.region) > LONGEST_REGION or not request.region.isprintable():
        raise invalid_field("request.region", request.region, f"at most {LONGEST_REGION} printable characters")
    if request.pace not in pb.Pace.values():
        raise invalid_field("request.pace", request.pace, "a Pace")
    seats = _seats(request.seats, ruleset, players)
    if request.as_partners and not (players == PARTNERS and _has_partners(ruleset.game, seats)):
        raise invalid_field("request.as_partners", True, "a party of two in a game of partnerships")
    return Wish(
        ruleset=ruleset_message(ruleset).SerializeToString(deterministic=True),
        ruleset_hash=ruleset.hash,
        game=ruleset.game,
        is_preset=not ruleset.chosen,
        seats=seats,
        region=request.region,
        patience_ms=_patience(request) if request.HasField("patience") else patience_ms,
        pace=request.pace,
        party=request.party_id,
        partners=request.as_partners,
    )


def table_of(ruleset_hash: bytes, seats: int) -> bytes:
    """Stands for a ruleset and a number of seats."""
    return ruleset_hash + bytes((seats,))


def _has_partners(game: str, seats: int) -> bool:
    return game == _PARTNERSHIP_GAME and seats == 2 * PARTNERS


def _seats(asked: int, ruleset: Ruleset, players: int) -> int:
    least = max(ruleset.min_seats, players)
    if not asked and least <= ruleset.max_seats:
        return max(least, min(ruleset.max_seats, LIKED_SEATS))
    if not least <= asked <= ruleset.max_seats:
        raise invalid_field("request.seats", asked, f"{least} to {ruleset.max_seats}")
    return asked


def _patience(request: pb.TicketRequest) -> int:
    patience = request.patience.seconds * 1000 + request.patience.nanos // 1_000_000
    if not 0 <= patience <= LONGEST_PATIENCE_MS:
        raise invalid_field("request.patience", f"{patience / 1000:g} s", f"0 to {LONGEST_PATIENCE_MS // 1000} s")
    return patience


def wish_of(ticket: Ticket) -> Wish:
    """What this ticket asks for."""
    return _decode(ticket.wish)


def about_of(ticket: Ticket) -> About:
    """What is known of its players."""
    return _decode_about(ticket.about)


def waiting_of(ticket: Ticket) -> Waiting:
    """The ticket as the matching sees it."""
    wish, about = wish_of(ticket), about_of(ticket)
    return Waiting(
        ticket=ticket.id,
        players=tuple(member.player for member in ticket.players),
        table=wish.table,
        seats=wish.seats,
        region=wish.region,
        created_ms=ticket.created_ms,
        patience_ms=wish.patience_ms,
        ratings=about.ratings,
        pace=wish.pace,
        blocked=frozenset(about.blocked),
        met=frozenset(about.met),
        partners=wish.partners,
    )


def ticket_message(ticket: Ticket, estimated_ms: int | None = None) -> pb.Ticket:
    """The ticket for its players."""
    wish = wish_of(ticket)
    assigned = None
    if ticket.room is not None:
        assigned = pb.Assignment(room_id=ticket.room, match_id=ticket.match, seats=ticket.seats)
    return pb.Ticket(
        ticket_id=ticket.id,
        state=pb.TicketState.ValueType(int(ticket.state)),
        request=pb.TicketRequest(
            ruleset=rules_pb2.Ruleset.FromString(wish.ruleset),
            seats=wish.seats,
            region=wish.region,
            patience=duration(wish.patience_ms),
            pace=pb.Pace.ValueType(wish.pace),
            party_id=wish.party,
            as_partners=wish.partners,
        ),
        created=timestamp(ticket.created_ms),
        estimated_wait=None if estimated_ms is None else duration(estimated_ms),
        assignment=assigned,
        player_ids=[member.player for member in ticket.players],
        failed_starts=ticket.failed,
    )


def duration(milliseconds: int) -> Duration:
    """As the wire has it."""
    message = Duration()
    message.FromMilliseconds(milliseconds)
    return message
