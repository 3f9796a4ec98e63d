"""Who sits where in a match that was formed."""

from __future__ import annotations

from collections.abc import Sequence

from services.matchmaking.matching.waiting import Waiting


def seats_of(tickets: Sequence[Waiting], sides: int) -> list[int]:
    """A seat for each player, in the order of the tickets and of their players. `sides`: 2 in a partnership game of
    four seats, where the seats of a side are two apart; else 0."""
    players = [player for ticket in tickets for player in ticket.players]
    if not sides:
        return list(range(len(players)))
    side_of = _side_of(tickets)
    free = {0: [0, 2], 1: [1, 3]}
    return [free[side_of[player]].pop(0) for player in players]


def _side_of(tickets: Sequence[Waiting]) -> dict[str, int]:
    """Partners together, then each to the weaker side that has a seat, the strongest first."""
    partners = [ticket for ticket in tickets if ticket.partners and len(ticket.players) == 2]
    groups = [(ticket.players, sum(ticket.ratings)) for ticket in partners]
    singles = [
        ((player,), rating)
        for ticket in tickets
        if ticket not in partners
        for player, rating in zip(ticket.players, ticket.ratings, strict=True)
    ]
    singles.sort(key=lambda single: -single[1])
    side_of: dict[str, int] = {}
    strength, taken = [0.0, 0.0], [0, 0]
    for players, rating in [*groups, *singles]:
        side = min((side for side in (0, 1) if taken[side] + len(players) <= 2), key=lambda side: strength[side])
        strength[side] += rating
        taken[side] += len(players)
        side_of.update(dict.fromkeys(players, side))
    return side_of
