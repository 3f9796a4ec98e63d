"""Who is matched with whom, and when. Pure: the time is an argument."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.matchmaking.matching import NEARLY_MS, Proposal, Waiting, propose

PATIENCE = 8_000


def waiting(
    number: int,
    created: int = 0,
    *,
    table: bytes = b"uno4",
    seats: int = 4,
    region: str = "",
    patience: int = PATIENCE,
    player: str = "",
) -> Waiting:
    return Waiting(f"t{number}", player or f"p{number}", table, seats, region, created, patience)


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
    tickets = [waiting(0), waiting(1, patience=600_000)]
    assert shape(propose(tickets, PATIENCE)) == [(["t0"], 3)]
    nearly_over = 600_000 - NEARLY_MS
    later = [waiting(0, created=nearly_over - PATIENCE), tickets[1]]
    assert shape(propose(later, nearly_over)) == [(["t1", "t0"], 2)]


def test_other_rulesets_and_seats_are_other_tables() -> None:
    tickets = [waiting(0), waiting(1, table=b"uno2", seats=2), waiting(2, table=b"uno2", seats=2), waiting(3)]
    assert shape(propose(tickets, 0)) == [(["t1", "t2"], 0)]


def test_a_region_meets_itself_and_none_but_never_another() -> None:
    two = {"table": b"uno2", "seats": 2}
    apart = [waiting(0, region="eu", **two), waiting(1, region="br", **two)]  # type: ignore[arg-type]
    assert propose(apart, 0) == []
    assert shape(propose([*apart, waiting(2, **two)], 0)) == [(["t0", "t2"], 0)]  # type: ignore[arg-type]


def test_a_ticket_without_region_does_not_bring_two_regions_together() -> None:
    three = {"table": b"uno3", "seats": 3}
    tickets = [waiting(0, **three), waiting(1, region="eu", **three), waiting(2, region="br", **three)]  # type: ignore[arg-type]
    assert propose(tickets, 0) == []


def test_a_player_is_never_matched_with_himself() -> None:
    tickets = [waiting(0, table=b"uno2", seats=2, player="ana"), waiting(1, table=b"uno2", seats=2, player="ana")]
    assert propose(tickets, 0) == []


@given(
    st.lists(
        st.tuples(
            st.integers(0, 20_000),
            st.sampled_from([2, 3, 4]),
            st.sampled_from(["", "eu", "br"]),
            st.integers(0, 20_000),
        ),
        max_size=30,
    ),
    st.integers(0, 50_000),
)
def test_whatever_waits_no_ticket_is_used_twice_and_no_one_waits_beyond_his_patience(
    drawn: list[tuple[int, int, str, int]], now: int
) -> None:
    tickets = [
        waiting(number, created, table=bytes((seats,)), seats=seats, region=region, patience=patience)
        for number, (created, seats, region, patience) in enumerate(drawn)
        if created <= now
    ]
    proposals = propose(tickets, now)
    used = [ticket for proposal in proposals for ticket in proposal.tickets]
    assert len(set(used)) == len(used)
    assert {ticket for ticket in tickets if ticket.patience_left(now) <= 0} <= set(used)
    for proposal in proposals:
        assert len(proposal.tickets) + proposal.bots == proposal.tickets[0].seats
        assert len({ticket.table for ticket in proposal.tickets}) == 1
        assert len({ticket.region for ticket in proposal.tickets} - {""}) <= 1
        if proposal.bots:
            assert min(ticket.patience_left(now) for ticket in proposal.tickets) <= 0
