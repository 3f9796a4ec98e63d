"""Results are counted once; histories, totals and boards agree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from services.store.assembly import Store
from services.store.errors import BadArgument
from services.store.keys import PlayerId
from services.store.scoring import Applied, BoardLine, Conflicting, MatchEntry, Result, ScoringStore, Share
from tests.store.conftest import MakeStore

POOL = "mau-mau-32"
ANA, BEN, EVE = PlayerId("p_ana"), PlayerId("p_ben"), PlayerId("p_eve")


@pytest.fixture
def scoring(store: Store) -> ScoringStore:
    return ScoringStore(store.pipelines, history_days=365)


def share(player: str, wins: int = 0) -> Share:
    return Share(PlayerId(player), player.removeprefix("p_").title(), wins, {"matches": 1, "wins": wins})


def result(match: str = "m_1", digest: bytes = b"first", ended: int = 1_000, shares: Sequence[Share] = ()) -> Result:
    people = tuple(shares) or (share(ANA, 1), share(BEN, 0))
    return Result(match, POOL, digest, b"record of " + match.encode(), b"entry", ended, people)


async def test_a_result_counts_once_however_often_and_by_whom_it_is_reported(make_store: MakeStore) -> None:
    stores = [ScoringStore(make_store().pipelines, 365) for _ in range(4)]
    answers = await asyncio.gather(*(stores[turn % 4].apply(result()) for turn in range(20)))
    assert sorted(answers) == [Applied(1, repeated=False), *[Applied(1, repeated=True)] * 19]
    assert await stores[0].totals(POOL, ANA) == {"matches": 1, "wins": 1}
    assert (await stores[0].board(POOL, 0, 10)).lines == [BoardLine(1, ANA, 1), BoardLine(2, BEN, 0)]


async def test_other_matches_count_besides(scoring: ScoringStore) -> None:
    """The control: what is refused above is the repeat, not every second result."""
    await asyncio.gather(*(scoring.apply(result(f"m_{number}")) for number in range(20)))
    assert await scoring.totals(POOL, ANA) == {"matches": 20, "wins": 20}


async def test_another_result_of_the_same_match_changes_nothing(scoring: ScoringStore) -> None:
    await scoring.apply(result())
    other = result(digest=b"second", shares=[share(EVE, 1)])
    assert await scoring.apply(other) == Conflicting(POOL)
    assert await scoring.totals(POOL, EVE) == {}
    assert await scoring.apply(result()) == Applied(1, repeated=True)


async def test_the_same_match_in_another_pool_conflicts(scoring: ScoringStore) -> None:
    await scoring.apply(result())
    assert await scoring.apply(result()._replace(pool="uno")) == Conflicting(POOL)
    assert await scoring.totals("uno", ANA) == {}


async def test_two_different_results_at_once_leave_one(make_store: MakeStore) -> None:
    stores = [ScoringStore(make_store().pipelines, 365) for _ in range(2)]
    answers = await asyncio.gather(
        *(stores[turn % 2].apply(result(digest=b"%d" % (turn % 2), shares=[share(ANA, 1)])) for turn in range(20))
    )
    assert sum(isinstance(answer, Applied) for answer in answers) == 10
    assert sum(isinstance(answer, Conflicting) for answer in answers) == 10
    assert await stores[0].totals(POOL, ANA) == {"matches": 1, "wins": 1}


async def test_the_ledger_keeps_the_order_of_counting(scoring: ScoringStore, store: Store) -> None:
    for match in ("m_c", "m_a", "m_b"):
        await scoring.apply(result(match))
    await scoring.apply(result("m_c"))
    entries = await store.pipelines.reads.command("XRANGE", store.pipelines.keys.pool(POOL).ledger, "-", "+")
    assert [(entry, fields[1]) for entry, fields in entries] == [(b"1-0", b"m_c"), (b"2-0", b"m_a"), (b"3-0", b"m_b")]


async def test_a_match_is_found_by_its_id_alone(scoring: ScoringStore) -> None:
    await scoring.apply(result())
    assert await scoring.record("m_1") == b"record of m_1"
    assert await scoring.record("m_2") is None


async def test_a_history_is_newest_first_and_pages_meet_without_gap_or_repeat(scoring: ScoringStore) -> None:
    for number in range(25):
        await scoring.apply(result(f"m_{number:02}", ended=1_000 + number // 3))
    whole = await scoring.history(POOL, ANA, limit=100)
    assert whole == sorted(whole, reverse=True)
    assert len(whole) == 25
    pages, before = list[MatchEntry](), None
    while page := await scoring.history(POOL, ANA, before, limit=4):
        pages += page
        before = page[-1]
    assert pages == whole


async def test_a_history_forgets_what_is_older_than_the_setting(store: Store) -> None:
    scoring, day = ScoringStore(store.pipelines, history_days=2), 24 * 3_600_000
    for ended in (1, 2 * day, 3 * day):
        await scoring.apply(result(f"m_{ended}", ended=ended))
    assert await scoring.history(POOL, ANA) == [
        MatchEntry(3 * day, f"m_{3 * day}"),
        MatchEntry(2 * day, f"m_{2 * day}"),
    ]


async def test_a_share_without_sums_is_history_only(scoring: ScoringStore) -> None:
    await scoring.apply(result(shares=[Share(ANA, "Ana", None, {})]))
    assert await scoring.totals(POOL, ANA) == {}
    assert (await scoring.board(POOL, 0, 10)).size == 0
    assert await scoring.history(POOL, ANA) == [MatchEntry(1_000, "m_1")]


async def test_equal_wins_share_a_place_and_the_next_place_is_skipped(scoring: ScoringStore) -> None:
    for player, wins in (("p_d", 15), ("p_c", 21), ("p_a", 30), ("p_b", 21)):
        await scoring.apply(result(f"m_{player}", shares=[share(player, wins)]))
    expected = [BoardLine(1, PlayerId("p_a"), 30), BoardLine(2, PlayerId("p_b"), 21), BoardLine(2, PlayerId("p_c"), 21)]
    expected.append(BoardLine(4, PlayerId("p_d"), 15))
    assert (await scoring.board(POOL, 0, 10)).lines == expected
    for position, line in enumerate(expected):
        assert (await scoring.board(POOL, position, 1)).lines == [line]
        around = await scoring.around(POOL, line.player, 0)
        assert around is not None
        assert around.lines == [line]
    both = await scoring.around(POOL, PlayerId("p_c"), 1)
    assert both is not None
    assert both.lines == expected[1:]


async def test_a_match_without_a_win_puts_a_player_on_the_board_at_the_place_that_the_list_shows(
    scoring: ScoringStore,
) -> None:
    await scoring.apply(result())
    around = await scoring.around(POOL, BEN, 3)
    assert around is not None
    assert around.lines[-1] == (await scoring.board(POOL, 1, 1)).lines[0] == BoardLine(2, BEN, 0)
    assert await scoring.around(POOL, EVE, 3) is None


async def test_the_board_shows_the_last_name(scoring: ScoringStore) -> None:
    await scoring.apply(result())
    await scoring.apply(result("m_2", shares=[Share(ANA, "Ana Lívia", 1, {"matches": 1})]))
    assert await scoring.names_and_matches(POOL, [ANA, EVE]) == [("Ana Lívia", 2), ("", 0)]


async def test_a_pool_that_is_no_name_is_refused(scoring: ScoringStore) -> None:
    with pytest.raises(BadArgument, match=r"pool: 'a\}b' is not 1 to 32 of a-z 0-9 -"):
        await scoring.apply(result()._replace(pool="a}b"))
    assert await scoring.pool_of("m_1") is None


async def test_ids_of_any_identity_provider_keep_to_their_own_keys(scoring: ScoringStore) -> None:
    strange = [PlayerId("auth0|a:b"), PlayerId("auth0|a"), PlayerId("{x}"), PlayerId("ü 😀")]
    await scoring.apply(result(shares=[share(player, number) for number, player in enumerate(strange)]))
    for player in strange:
        assert (await scoring.totals(POOL, player))["matches"] == 1
    assert {line.player for line in (await scoring.board(POOL, 0, 10)).lines} == set(strange)
