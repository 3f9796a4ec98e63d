"""Who is matched with whom, and when. Pure: the time is an argument."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.matchmaking.matching.estimates import estimate_ms
from services.matchmaking.matching.proposing import NEARLY_MS, propose
from services.matchmaking.matching.seating import seats_of
from services.matchmaking.matching.waiting import Proposal, Waiting
from services.matchmaking.matching.windows import window

PATIENCE = 8_000
TWO: dict[str, Any] = {"table": b"uno2", "seats": 2}


def waiting(number: int, created: int = 0, *, players: str = "", rating: float = 25.0, **fields: Any) -> Waiting:
    """A ticket `t<number>` of the player `p<number>`, or of these players."""
    people = tuple(players.split()) or (f"p{number}",)
    others: dict[str, Any] = {"table": b"uno4", "seats": 4, "region": "", "patience_ms": PATIENCE, **fields}
    return Waiting(f"t{number}", people, created_ms=created, ratings=(rating,) * len(people), **others)


def shape(proposals: list[Proposal]) -> list[tuple[list[str], int]]:
    return [([ticket.ticket for ticket in proposal.tickets], proposal.bots) for proposal in proposals]


def test_a_full_table_is_made_at_once_oldest_first() -> None:
    tickets = [waiting(number, created=100 - number) for number in range(6)]
    assert shape(propose(tickets, 100)) == [(["t5", "t4", "t3", "t2"], 0)]


def test_nobody_is_matched_before_there_is_a_table_or_patience_ends() -> None:
    tickets = [waiting(number) for number in range(3)]
    assert propose(tickets, PATIENCE - 1) == []
    assert shape(propose(tickets, PATIENCE)) == [(["t0", "t1", "t2"], 1)]


def test_people_who_wait_at_the_same_time_meet_although_one_came_later() -> None:
    tickets = [waiting(0), waiting(1, created=PATIENCE - 1)]
    assert shape(propose(tickets, PATIENCE)) == [(["t0", "t1"], 2)]


def test_who_wants_to_wait_for_people_is_not_drawn_to_a_table_of_bots() -> None:
    tickets = [waiting(0), waiting(1, patience_ms=600_000)]
    assert shape(propose(tickets, PATIENCE)) == [(["t0"], 3)]
    nearly_over = 600_000 - NEARLY_MS
    later = [waiting(0, created=nearly_over - PATIENCE), tickets[1]]
    assert shape(propose(later, nearly_over)) == [(["t1", "t0"], 2)]


def test_other_rulesets_and_seats_are_other_tables() -> None:
    tickets = [waiting(0), waiting(1, **TWO), waiting(2, **TWO), waiting(3)]
    assert shape(propose(tickets, 0)) == [(["t1", "t2"], 0)]


def test_a_region_meets_itself_and_none_but_never_another() -> None:
    apart = [waiting(0, region="eu", **TWO), waiting(1, region="br", **TWO)]
    assert propose(apart, 0) == []
    assert shape(propose([*apart, waiting(2, **TWO)], 0)) == [(["t0", "t2"], 0)]


def test_a_ticket_without_region_does_not_bring_two_regions_together() -> None:
    three: dict[str, Any] = {"table": b"uno3", "seats": 3}
    tickets = [waiting(0, **three), waiting(1, region="eu", **three), waiting(2, region="br", **three)]
    assert propose(tickets, 0) == []


def test_a_player_is_never_matched_with_himself() -> None:
    assert propose([waiting(0, players="ana", **TWO), waiting(1, players="ana", **TWO)], 0) == []


def test_equals_meet_at_once_and_others_only_once_the_window_is_wide_enough() -> None:
    far = [waiting(0, rating=20, **TWO), waiting(1, rating=23, **TWO)]
    assert propose(far, 0) == []
    assert propose(far, PATIENCE // 4) == []
    assert shape(propose(far, PATIENCE // 2)) == [(["t0", "t1"], 0)]
    equal = waiting(2, rating=20.5, **TWO)
    assert shape(propose([*far, equal], 0)) == [(["t0", "t2"], 0)]


def test_a_window_only_grows_and_is_open_when_the_patience_is_over() -> None:
    ticket = waiting(0, patience_ms=16_000)
    widths = [window(ticket, now) for now in range(0, 16_001, 1_000)]
    assert widths == sorted(widths)
    assert (widths[0], widths[4], widths[8], widths[12]) == (1.0, 2.0, 4.0, 8.0)
    assert window(waiting(0, patience_ms=600_000), 60_000) == float("inf")
    assert widths[-1] == float("inf")


def test_the_oldest_chooses_first_and_is_not_left_behind_by_a_better_pair() -> None:
    tickets = [waiting(0, rating=10, **TWO), waiting(1, 4_000, rating=25, **TWO), waiting(2, 4_000, rating=25, **TWO)]
    assert shape(propose(tickets, PATIENCE)) == [(["t0", "t1"], 0)]


def test_the_same_people_are_not_paired_again_where_others_wait() -> None:
    met = waiting(0, met=frozenset({"p1"}), **TWO)
    others = [waiting(1, **TWO), waiting(2, rating=25.9, **TWO)]
    assert shape(propose([met, *others], 0)) == [(["t0", "t2"], 0)]
    assert propose([met, others[0]], 0) == []
    assert shape(propose([met, others[0]], PATIENCE - 500)) == [(["t0", "t1"], 0)]


def test_who_plays_as_fast_is_preferred() -> None:
    tickets = [waiting(0, pace=1, **TWO), waiting(1, pace=3, **TWO), waiting(2, rating=25.9, pace=1, **TWO)]
    assert shape(propose(tickets, 0)) == [(["t0", "t2"], 0)]


def test_a_block_holds_both_ways_and_for_ever() -> None:
    tickets = [waiting(0, blocked=frozenset({"p1"}), **TWO), waiting(1, **TWO)]
    for pair in (tickets, tickets[::-1]):
        assert shape(propose(pair, 10 * PATIENCE)) == [(["t0"], 1), (["t1"], 1)]


def test_a_party_stays_together_and_takes_those_that_fill_the_table() -> None:
    party = waiting(0, players="ana ben")
    tickets = [party, waiting(1, players="cid dan eve"), waiting(2, players="fay gus", rating=25.5)]
    assert shape(propose(tickets, 0)) == [(["t0", "t2"], 0)]
    singles = [party, waiting(1), waiting(2, players="fay gus", rating=25.9), waiting(3)]
    assert shape(propose(singles, 0)) == [(["t0", "t1", "t3"], 0)]


def test_a_party_that_fills_the_table_plays_at_once() -> None:
    assert shape(propose([waiting(0, players="a b c d")], 0)) == [(["t0"], 0)]


def test_bots_take_only_the_seats_that_people_leave() -> None:
    tickets = [waiting(0), waiting(1, players="ana ben"), waiting(2, players="cid dan")]
    assert shape(propose(tickets, PATIENCE)) == [(["t0", "t1"], 1), (["t2"], 2)]


def test_partners_sit_across_and_the_others_make_the_sides_even() -> None:
    party = waiting(0, players="ana ben", partners=True)
    assert seats_of([party, waiting(1), waiting(2)], 2) == [0, 2, 1, 3]
    rated = [waiting(number, rating=rating) for number, rating in enumerate((30, 20, 29, 21))]
    sides = [seat % 2 for seat in seats_of(rated, 2)]
    assert sides[0] == sides[1] != sides[2] == sides[3]
    assert seats_of([waiting(1), waiting(0, players="ana ben")], 0) == [0, 1, 2]


def test_an_estimate_is_given_only_where_enough_have_waited_as_long() -> None:
    waits = [2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000]
    assert estimate_ms(waits, 0, 60_000) == 8_000
    assert estimate_ms(waits, 4_500, 60_000) == 8_000
    assert estimate_ms(waits, 5_500, 60_000) is None, "four are too few"
    assert estimate_ms(waits[:4], 0, 60_000) is None
    assert estimate_ms(waits, 0, 5_000) == 5_000, "then bots come"
    assert estimate_ms(waits, 5_000, 5_000) is None


TICKETS = st.lists(
    st.fixed_dictionaries(
        {
            "created": st.integers(0, 20_000),
            "seats": st.sampled_from([2, 3, 4]),
            "region": st.sampled_from(["", "eu", "br"]),
            "patience_ms": st.integers(0, 20_000),
            "rating": st.floats(0, 50),
            "size": st.sampled_from([1, 1, 1, 2]),
            "pace": st.integers(0, 3),
            "blocked": st.frozensets(st.sampled_from([f"p{number}-0" for number in range(8)]), max_size=2),
        }
    ),
    max_size=30,
)


@given(TICKETS, st.integers(0, 50_000))
def test_whatever_waits_no_ticket_is_used_twice_and_no_one_waits_beyond_his_patience(
    drawn: list[dict[str, Any]], now: int
) -> None:
    tickets = []
    for number, fields in enumerate(drawn):
        players = " ".join(f"p{number}-{member}" for member in range(fields.pop("size")))
        if fields["created"] <= now:
            tickets.append(waiting(number, players=players, table=bytes((fields["seats"],)), **fields))
    proposals = propose(tickets, now)
    used = [ticket for proposal in proposals for ticket in proposal.tickets]
    assert len(set(used)) == len(used)
    assert {ticket for ticket in tickets if ticket.patience_left(now) <= 0} <= set(used)
    for proposal in proposals:
        everybody = [player for ticket in proposal.tickets for player in ticket.players]
        assert len(everybody) + proposal.bots == proposal.tickets[0].seats
        assert len({ticket.table for ticket in proposal.tickets}) == 1
        assert len({ticket.region for ticket in proposal.tickets} - {""}) <= 1
        for ticket in proposal.tickets:
            assert not ticket.blocked & (set(everybody) - set(ticket.players))
        if proposal.bots:
            assert min(ticket.patience_left(now) for ticket in proposal.tickets) <= 0


@given(TICKETS, st.integers(0, 50_000), st.randoms(use_true_random=False))
def test_the_order_in_which_tickets_are_read_does_not_matter(
    drawn: list[dict[str, Any]], now: int, chance: Any
) -> None:
    """Two processes that see the same tickets propose the same matches."""
    tickets = []
    for number, fields in enumerate(drawn):
        del fields["size"]
        tickets.append(waiting(number, table=bytes((fields["seats"],)), **fields))
    shuffled = list(tickets)
    chance.shuffle(shuffled)
    assert sorted(shape(propose(tickets, now))) == sorted(shape(propose(shuffled, now)))
