"""How strong a player is: OpenSkill's Plackett-Luce model, and the rules by which a match moves ratings.

OpenSkill states a strength as a normal distribution, `mu` with the uncertainty `sigma`; everybody begins at 25 and
25/3. Free-for-alls and partnerships are rated alike, as sides in the order of their places.

1. A match is **rated** if it ended with a result, was not marked as unrated (somebody left before every seat had had a
   turn), and people of two sides at least took part, in partnerships as many on each side. People are rated against
   people only: bots are left out as if they had not been there.
2. **Leavers are last**, behind all who stayed, whatever the bot made of their hand; the others are ranked among
   themselves. Several leavers share that place. Who came back to the seat has not left.
3. **A deserted partner is not punished**: if the side loses, the rating of who stayed on it does not change. If it wins
   all the same, it is a win for who stayed, and a last place for who left.
4. **A bot's turns are not the person's**: if a bot played a share of somebody's turns, the rating moves by the rest of
   the way only. For leavers it moves all the way.
5. **A blocked match** has the places that its rules give it, equal ones as draws; without a winner nobody has a win.
6. A match that was **aborted or voided** changes nothing. Players who block each other are rated like any others,
   should they meet.

A rating is **provisional** until 10 rated matches, and while sigma is above 7.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from openskill.models import PlackettLuce

from services.store.keys import Entrant

SURE_MATCHES: Final = 10
SURE_SIGMA: Final = 7.5
_MODEL: Final = PlackettLuce()
_BEHIND_ALL: Final = 1_000_000


class Strength(NamedTuple):
    """What is believed of a player: mean and standard deviation."""

    mu: float = _MODEL.mu
    sigma: float = _MODEL.sigma

    @property
    def ordinal(self) -> float:
        """What the player almost surely reaches."""
        return self.mu - 3 * self.sigma


class RatedSeat(NamedTuple):
    """A person's seat in a rated match. `turns` includes the `bot_turns` that a bot played for the person."""

    entrant: Entrant
    side: int
    place: int
    left: bool
    turns: int
    bot_turns: int


def is_provisional(matches: int, sigma: float) -> bool:
    """Whether it is too early to be sure."""
    return matches < SURE_MATCHES or sigma > SURE_SIGMA


def can_be_rated(sides: Iterable[int]) -> bool:
    """Whether people who sit on these sides, one entry a person, can be compared: rule 1."""
    counted: dict[int, int] = {}
    for side in sides:
        counted[side] = counted.get(side, 0) + 1
    return len(counted) > 1 and len(set(counted.values())) == 1


def rate(seats: Sequence[RatedSeat], before: Mapping[Entrant, Strength]) -> dict[Entrant, Strength]:
    """Strengths after a match that `can_be_rated`. The order of seats does not matter, to the last bit."""
    sides = _sides(seats)
    left = {side for side, people in sides.items() if any(seat.left for seat in people)}
    wholly = {side for side, people in sides.items() if all(seat.left for seat in people)}
    for_stayers = _compute(sides, before, wholly)
    after: dict[Entrant, Strength] = {}
    for side, people in sides.items():
        in_part = side in left and side not in wholly
        for_leavers = _compute(sides, before, wholly | {side}) if in_part else for_stayers
        for seat in people:
            own, computed = before[seat.entrant], (for_leavers if seat.left else for_stayers)[seat.entrant]
            spared = in_part and not seat.left and computed.mu < own.mu
            after[seat.entrant] = own if spared else _moved(seat, own, computed)
    return after


def _sides(seats: Sequence[RatedSeat]) -> dict[int, list[RatedSeat]]:
    """People by side, in an order that does not follow from where they sat."""
    sides: dict[int, list[RatedSeat]] = {}
    for seat in sorted(seats, key=lambda seat: (seat.place, seat.entrant)):
        sides.setdefault(seat.side, []).append(seat)
    return sides


def _compute(
    sides: Mapping[int, Sequence[RatedSeat]], before: Mapping[Entrant, Strength], last: set[int]
) -> dict[Entrant, Strength]:
    """What OpenSkill makes of the match, some sides being last."""
    teams = [[_MODEL.rating(*before[seat.entrant]) for seat in people] for people in sides.values()]
    ranks = [float(_BEHIND_ALL if side in last else people[0].place) for side, people in sides.items()]
    rated = _MODEL.rate(teams, ranks=ranks)
    return {
        seat.entrant: Strength(new.mu, new.sigma)
        for people, team in zip(sides.values(), rated, strict=True)
        for seat, new in zip(people, team, strict=True)
    }


def _moved(seat: RatedSeat, own: Strength, computed: Strength) -> Strength:
    """As far as the turns were the person's own."""
    if seat.left or seat.bot_turns == 0 or seat.turns == 0:
        return computed
    share = (seat.turns - seat.bot_turns) / seat.turns
    return Strength(own.mu + share * (computed.mu - own.mu), own.sigma + share * (computed.sigma - own.sigma))
