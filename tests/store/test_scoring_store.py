"""Results are counted once; histories, standings and boards agree."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import pytest
import redis

from services.store.assembly import Store
from services.store.boards import Boards, change_of
from services.store.errors import BadArgument
from services.store.keys import FAMILIES, Entrant, PlayerId
from services.store.ledgers import ANOTHER, DONE, REPEATED, UNKNOWN, Ledgers
from services.store.rebuilds import Rebuilds
from services.store.scoring import Applied, Claim, Conflicting, MatchEntry, Moved, Present, Result, ScoringStore, Share
from tests.store.conftest import MakeStore

POOL = "mau-mau-32"
ANA, BEN, EVE = PlayerId("p_ana"), PlayerId("p_ben"), PlayerId("p_eve")
SPANS = (("all", 0),)


@pytest.fixture
def scoring(store: Store) -> ScoringStore:
    return ScoringStore(store.pipelines, history_days=365)


@pytest.fixture
def boards(store: Store) -> Boards:
    return Boards(store.pipelines)


@pytest.fixture
def ledgers(store: Store) -> Ledgers:
    return Ledgers(store.pipelines)


def result(
    present: Present,
    people: Mapping[PlayerId, int | None],
    match: str = "m_1",
    digest: bytes = b"first",
    ended: int = 1_000,
) -> Result:
    """A standing is a count of matches in digits; the numbers of `people` are wins, None leaves the boards alone."""
    shares = tuple(
        Share(
            known.entrant,
            player,
            player.removeprefix("p_").title(),
            known.standing,
            b"%d" % (int(known.standing or 0) + 1),
            0 if wins is None else change_of(wins),
        )
        for known, (player, wins) in zip(present.known, people.items(), strict=True)
        if known is not None
    )
    record = b"record of " + match.encode()
    return Result(
        *(match, POOL, digest, record, b"body", ended, present.generation, present.season, SPANS),
        shares,
    )


async def count(
    scoring: ScoringStore,
    match: str = "m_1",
    people: Mapping[PlayerId, int | None] | None = None,
    *,
    digest: bytes = b"first",
    ended: int = 1_000,
) -> Applied | Conflicting:
    """As a service does it: look, compute, offer, again where something moved."""
    people = {ANA: 1, BEN: 0} if people is None else people
    claimed = (await scoring.claim(match, POOL)).pool
    while claimed == POOL:
        answer = await scoring.append(result(await scoring.enlist(POOL, list(people)), people, match, digest, ended))
        if not isinstance(answer, Moved):
            return answer
    return Conflicting(claimed)


async def standing(scoring: ScoringStore, player: PlayerId) -> bytes | None:
    [known] = (await scoring.look(POOL, [player])).known
    return None if known is None else known.standing


async def entrant(scoring: ScoringStore, player: PlayerId) -> Entrant:
    [known] = (await scoring.look(POOL, [player])).known
    assert known is not None
    return known.entrant


async def lines(scoring: ScoringStore, boards: Boards, first: int = 0, limit: int = 10) -> list[tuple[int, str, int]]:
    """Place, player and wins."""
    page = await boards.page(POOL, "all", first, limit)
    known = await scoring.entrants(POOL, [line.entrant for line in page.lines])
    return [(line.place, known[line.entrant][0], line.wins) for line in page.lines]


async def test_a_result_counts_once_however_often_and_by_whom_it_is_reported(
    make_store: MakeStore, boards: Boards
) -> None:
    stores = [ScoringStore(make_store().pipelines, 365) for _ in range(4)]
    answers = await asyncio.gather(*(count(stores[turn % 4]) for turn in range(20)))
    assert sorted(answers) == [Applied(1, repeated=False), *[Applied(1, repeated=True)] * 19]
    assert await standing(stores[0], ANA) == b"1"
    assert await lines(stores[0], boards) == [(1, ANA, 1), (2, BEN, 0)]


async def test_other_matches_of_the_same_people_count_besides_and_none_is_lost(make_store: MakeStore) -> None:
    """The control: what is refused above is the repeat, not every second result. Each is computed from the one before
    it, so that each had to see the others."""
    stores = [ScoringStore(make_store().pipelines, 365) for _ in range(4)]
    answers = await asyncio.gather(*(count(stores[number % 4], f"m_{number}") for number in range(20)))
    assert sorted(answer.position for answer in answers if isinstance(answer, Applied)) == list(range(1, 21))
    assert await standing(stores[0], ANA) == b"20"


async def test_control_a_result_computed_from_what_has_moved_is_not_written(scoring: ScoringStore) -> None:
    people: dict[PlayerId, int | None] = {ANA: 1, BEN: 0}
    before = await scoring.enlist(POOL, list(people))
    assert await scoring.append(result(before, people, "m_1")) == Applied(1, repeated=False)
    assert await scoring.append(result(before, people, "m_2")) == Moved()
    assert await standing(scoring, ANA) == b"1"
    assert await scoring.record_in(POOL, "m_2") is None


async def test_another_result_of_the_same_match_changes_nothing(scoring: ScoringStore) -> None:
    await count(scoring)
    assert await count(scoring, people={EVE: 1}, digest=b"second") == Conflicting(POOL)
    assert not await standing(scoring, EVE)
    assert await count(scoring) == Applied(1, repeated=True)


async def test_the_same_match_in_another_pool_conflicts(scoring: ScoringStore) -> None:
    await count(scoring)
    assert await scoring.claim("m_1", "uno") == Claim(POOL, first=False)


async def test_two_different_results_at_once_leave_one(make_store: MakeStore) -> None:
    stores = [ScoringStore(make_store().pipelines, 365) for _ in range(2)]
    answers = await asyncio.gather(*(count(stores[turn % 2], digest=b"%d" % (turn % 2)) for turn in range(20)))
    assert sum(isinstance(answer, Applied) for answer in answers) == 10
    assert sum(isinstance(answer, Conflicting) for answer in answers) == 10
    assert await standing(stores[0], ANA) == b"1"


async def test_the_ledger_keeps_the_order_of_counting(scoring: ScoringStore, store: Store) -> None:
    for match in ("m_c", "m_a", "m_b"):
        await count(scoring, match)
    await count(scoring, "m_c")
    entries = await store.pipelines.reads.command("XRANGE", store.pipelines.keys.pool(POOL).ledger, "-", "+")
    assert [(entry, fields[3]) for entry, fields in entries] == [(b"1-0", b"m_c"), (b"2-0", b"m_a"), (b"3-0", b"m_b")]


async def test_the_ledger_names_nobody(scoring: ScoringStore, store: Store) -> None:
    await count(scoring)
    entries = await store.pipelines.reads.command("XRANGE", store.pipelines.keys.pool(POOL).ledger, "-", "+")
    assert entries
    assert b"p_ana" not in b"".join(part for _, fields in entries for part in fields)


async def test_a_match_is_found_by_its_id_alone(scoring: ScoringStore) -> None:
    await count(scoring)
    assert await scoring.record("m_1") == (POOL, (b"record of m_1", False))
    assert await scoring.record("m_2") is None


async def test_a_history_is_newest_first_and_pages_meet_without_gap_or_repeat(scoring: ScoringStore) -> None:
    for number in range(25):
        await count(scoring, f"m_{number:02}", ended=1_000 + number // 3)
    ana = await entrant(scoring, ANA)
    whole = await scoring.history(POOL, ana, limit=100)
    assert whole == sorted(whole, reverse=True)
    assert len(whole) == 25
    pages, before = list[MatchEntry](), None
    while page := await scoring.history(POOL, ana, before, limit=4):
        pages += page
        before = page[-1]
    assert pages == whole
    assert await scoring.history(POOL, ana, limit=100, oldest_ms=1_007) == [
        entry for entry in whole if entry.ended_ms >= 1_007
    ]


async def test_a_history_forgets_what_is_older_than_the_setting(store: Store) -> None:
    scoring, day = ScoringStore(store.pipelines, history_days=2), 24 * 3_600_000
    for ended in (1, 2 * day, 3 * day):
        await count(scoring, f"m_{ended}", ended=ended)
    assert await scoring.history(POOL, await entrant(scoring, ANA)) == [
        MatchEntry(3 * day, f"m_{3 * day}"),
        MatchEntry(2 * day, f"m_{2 * day}"),
    ]


async def test_equal_wins_share_a_place_and_the_next_place_is_skipped(scoring: ScoringStore, boards: Boards) -> None:
    for player, wins in (("p_d", 15), ("p_c", 21), ("p_a", 30), ("p_b", 21)):
        await count(scoring, f"m_{player}", {PlayerId(player): wins})
    expected = [(1, "p_a", 30), (2, "p_c", 21), (2, "p_b", 21), (4, "p_d", 15)]
    assert await lines(scoring, boards) == expected
    for position, (place, player, wins) in enumerate(expected):
        assert await lines(scoring, boards, position, 1) == [(place, player, wins)]
        around = await boards.around(POOL, "all", await entrant(scoring, PlayerId(player)), 0)
        assert around is not None
        assert [(line.place, line.wins) for line in around.lines] == [(place, wins)]
    both = await boards.around(POOL, "all", await entrant(scoring, PlayerId("p_b")), 1)
    assert both is not None
    assert [(line.place, line.wins) for line in both.lines] == [(2, 21), (2, 21), (4, 15)]


async def test_within_a_shared_place_fewer_matches_stand_first_then_the_earlier_player(
    scoring: ScoringStore, boards: Boards
) -> None:
    await count(scoring, "m_1", {PlayerId("p_z"): 1, PlayerId("p_y"): 1, PlayerId("p_x"): 1})
    await count(scoring, "m_2", {PlayerId("p_z"): 0})
    page = await boards.page(POOL, "all", 0, 10)
    assert await lines(scoring, boards) == [(1, "p_y", 1), (1, "p_x", 1), (1, "p_z", 1)]
    assert [line.matches for line in page.lines] == [1, 1, 2]


async def test_a_match_without_a_win_puts_a_player_on_the_board_at_the_place_that_the_list_shows(
    scoring: ScoringStore, boards: Boards
) -> None:
    await count(scoring)
    around = await boards.around(POOL, "all", await entrant(scoring, BEN), 3)
    assert around is not None
    assert around.lines[-1] == (await boards.page(POOL, "all", 1, 1)).lines[0]
    assert (around.lines[-1].place, around.lines[-1].wins, around.lines[-1].matches) == (2, 0, 1)
    assert await boards.around(POOL, "all", Entrant("000000099"), 3) is None


async def test_many_wins_and_matches_are_told_exactly(scoring: ScoringStore, boards: Boards) -> None:
    for number in range(3):
        await count(scoring, f"m_{number}", {ANA: 1_000_000})
    [line] = (await boards.page(POOL, "all", 0, 1)).lines
    assert (line.wins, line.matches) == (3_000_000, 3)


async def test_a_share_without_change_is_history_only(scoring: ScoringStore, boards: Boards) -> None:
    await count(scoring, people={ANA: None})
    assert (await boards.page(POOL, "all", 0, 10)).size == 0
    assert await scoring.history(POOL, await entrant(scoring, ANA)) == [MatchEntry(1_000, "m_1")]


async def test_the_last_name_is_known(scoring: ScoringStore) -> None:
    await count(scoring)
    ana = await entrant(scoring, ANA)
    assert await scoring.entrants(POOL, [ana, Entrant("000000099")]) == {ana: (ANA, "Ana")}


async def test_a_pool_that_is_no_name_is_refused(scoring: ScoringStore) -> None:
    with pytest.raises(BadArgument, match=r"pool: 'a\}b' is not 1 to 32 of a-z 0-9 -"):
        await scoring.claim("m_1", "a}b")
    assert await scoring.pool_of("m_1") is None


async def test_ids_of_any_identity_provider_keep_to_their_own(scoring: ScoringStore, boards: Boards) -> None:
    strange = [PlayerId("auth0|a:b"), PlayerId("auth0|a"), PlayerId("{x}"), PlayerId("ü 😀")]
    await count(scoring, people={player: number for number, player in enumerate(strange)})
    for player in strange:
        assert await standing(scoring, player) == b"1"
    assert {player for _, player, _ in await lines(scoring, boards)} == set(strange)


async def test_a_season_is_opened_once_and_closed_once(ledgers: Ledgers) -> None:
    opened = await ledgers.open_season(POOL, "s1", "First")
    assert opened.kind == DONE
    assert await ledgers.open_season(POOL, "s1", "Other name") == opened._replace(kind=REPEATED)
    assert (await ledgers.open_season(POOL, "s2", "Second")).kind == ANOTHER
    assert await ledgers.running_season(POOL) == "s1"
    closed = await ledgers.close_season(POOL, "s1")
    assert closed.kind == DONE
    assert await ledgers.close_season(POOL, "s1") == closed._replace(kind=REPEATED)
    assert (await ledgers.open_season(POOL, "s1", "Again")).kind == ANOTHER
    assert (await ledgers.close_season(POOL, "s3")).kind == UNKNOWN
    assert closed.season is not None
    assert 0 < closed.season.opened_ms <= closed.season.closed_ms
    assert await ledgers.seasons(POOL) == [closed.season]


async def test_a_result_looked_at_before_a_season_is_not_counted_into_it(
    scoring: ScoringStore, ledgers: Ledgers
) -> None:
    people: dict[PlayerId, int | None] = {ANA: 1, BEN: 0}
    before = await scoring.enlist(POOL, list(people))
    await ledgers.open_season(POOL, "s1", "First")
    assert await scoring.append(result(before, people)) == Moved()
    assert (await scoring.enlist(POOL, list(people))).season == "s1"


async def test_a_forgotten_player_is_nobody_and_a_new_one_when_coming_back(
    scoring: ScoringStore, ledgers: Ledgers, boards: Boards
) -> None:
    await count(scoring)
    was = await entrant(scoring, ANA)
    assert await ledgers.forget(POOL, ANA)
    assert not await ledgers.forget(POOL, ANA)
    assert await standing(scoring, ANA) is None
    assert await scoring.history(POOL, was) == []
    assert [player for _, player, _ in await lines(scoring, boards)] == [BEN]
    await count(scoring, "m_2")
    assert await entrant(scoring, ANA) != was
    assert await standing(scoring, ANA) == b"1"


async def test_a_result_looked_at_before_its_player_was_forgotten_is_not_written(
    scoring: ScoringStore, ledgers: Ledgers
) -> None:
    people: dict[PlayerId, int | None] = {ANA: 1, BEN: 0}
    before = await scoring.enlist(POOL, list(people))
    await ledgers.forget(POOL, ANA)
    assert await scoring.append(result(before, people)) == Moved()


async def test_a_match_is_voided_once(scoring: ScoringStore, ledgers: Ledgers) -> None:
    await count(scoring)
    assert await ledgers.void(POOL, "m_1") == (2, False)
    assert await ledgers.void(POOL, "m_1") == (2, True)
    assert await ledgers.void(POOL, "m_2") is None
    assert await ledgers.voids(POOL) == {1}
    assert await scoring.record_in(POOL, "m_1") == (b"record of m_1", True)
    assert await count(scoring) == Applied(1, repeated=True), "it does not count again when it is reported again"


async def test_every_key_of_a_pool_is_declared_with_its_type(
    scoring: ScoringStore, ledgers: Ledgers, store: Store, raw: redis.Redis, prefix: str
) -> None:
    await ledgers.open_season(POOL, "s1", "First")
    await count(scoring)
    await ledgers.void(POOL, "m_1")
    assert await Rebuilds(store.pipelines).begin(POOL) is not None
    found: Any = raw.keys(f"{prefix}:{{family:*")
    seen = set()
    for key in found:
        [family] = [family for family in FAMILIES if _has_form(family.form, key.decode(), prefix)]
        assert raw.type(key) == family.kind.encode()
        seen.add(family.form)
    assert seen == {family.form for family in FAMILIES if family.form.startswith("{family:")}


def _has_form(form: str, key: str, prefix: str) -> bool:
    pattern = re.escape(form).replace("<span>", ".+")
    return re.fullmatch(f"{prefix}:{re.sub('<[a-z]+>', '[^:]+', pattern)}", key) is not None
