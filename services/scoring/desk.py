"""What the calls of scoring have in common: families, players and the entrants that they are, messages out of what is
stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from maumau.v1 import scoring_pb2 as pb

from services.runtime.auth import caller
from services.scoring.ratings import is_provisional
from services.scoring.reports import entrants_in, fill_in
from services.scoring.standings import Standing, read_standing
from services.store.keys import PlayerId
from services.store.players import PlayerStore
from services.store.scoring import Known, MatchEntry, ScoringStore, in_all
from services.wire.errors import invalid_field, refusal

LONGEST_ID: Final = 128
_NO_SUMS: Final = frozenset({"places", "streak", "best_streak", "mu", "sigma", "rated"})
_SUMS: Final = tuple(field for field in Standing.__struct_fields__ if field not in _NO_SUMS)


class Desk:
    """Looks things up for calls."""

    def __init__(self, store: ScoringStore, players: PlayerStore, families: Sequence[str]) -> None:
        self.store = store
        self._players = players
        self.families = tuple(families)

    def family(self, asked: str) -> str:
        """A family that there is. Raises Refusal: UNKNOWN_FAMILY."""
        if asked not in self.families:
            raise refusal("UNKNOWN_FAMILY", value=asked, expected=f"one of {', '.join(self.families)}")
        return asked

    def chosen(self, asked: str) -> tuple[str, ...]:
        """The family, or all for an empty one. Raises Refusal: UNKNOWN_FAMILY."""
        return (self.family(asked),) if asked else self.families

    async def player(self, asked: str) -> tuple[PlayerId, dict[str, Known]]:
        """The player of a request, and what the player is in each family. One who is not the caller must have a profile
        here, or a match. Raises Refusal: PLAYER_NOT_FOUND."""
        player = asked_player(asked)
        known = await in_all(self.store, self.families, player)
        if not known and player != caller().player_id and await self._players.profile(player) is None:
            raise refusal("PLAYER_NOT_FOUND")
        return player, known

    async def records(self, entries: Sequence[tuple[MatchEntry, str]]) -> list[pb.MatchRecord | None]:
        """The records of matches, each with its family; None for one that was forgotten."""
        found = await asyncio.gather(*(self.store.record_in(family, entry.match) for entry, family in entries))
        records = [None if one is None else _record(one.content, one.voided) for one in found]
        for family in {family for _, family in entries}:
            of_family = [
                record
                for record, (_, its) in zip(records, entries, strict=True)
                if record is not None and its == family
            ]
            known = await self.store.entrants(family, [one for record in of_family for one in entrants_in(record)])
            for record in of_family:
                fill_in(record, known)
        return records


def _record(content: bytes, voided: bool) -> pb.MatchRecord:
    record = pb.MatchRecord.FromString(content)
    record.voided = voided
    return record


def asked_player(asked: str) -> PlayerId:
    """The caller, for an empty id. Raises Refusal (PLAYER_NOT_FOUND) for what nobody can be called."""
    return PlayerId(plain_id(asked, "player_id", "PLAYER_NOT_FOUND") if asked else caller().player_id)


def plain_id(text: str, field: str, missing: str) -> str:
    """An id as it came. Raises Refusal: INVALID_FIELD for none, `missing` for what nothing here can be called."""
    if not text:
        raise invalid_field(field, "", "an id")
    if len(text) > LONGEST_ID:
        raise refusal(missing)
    return text


def statistics_message(player: PlayerId, family: str, known: Sequence[Known]) -> pb.Statistics:
    """Sums over what a player is in one family, or in several where `family` is empty."""
    standings = [read_standing(one.standing) for one in known]
    total = {field: sum(getattr(standing, field) for standing in standings) for field in _SUMS}
    matches, places = total["matches"], sum(standing.places for standing in standings)
    average = (places * 1000 + matches // 2) // matches if matches else 0
    message = pb.Statistics(player_id=player, family=family, average_place_thousandths=average, **total)
    if family and standings:
        message.streak, message.best_streak = standings[0].streak, standings[0].best_streak
    return message


def rating_message(player: PlayerId, family: str, known: Known | None) -> pb.Rating:
    """A beginner's for one who has no match in the family."""
    standing = read_standing(b"" if known is None else known.standing)
    return pb.Rating(
        player_id=player,
        family=family,
        mu=standing.mu,
        sigma=standing.sigma,
        ordinal=standing.strength.ordinal,
        matches=standing.rated,
        provisional=is_provisional(standing.rated, standing.sigma),
    )
