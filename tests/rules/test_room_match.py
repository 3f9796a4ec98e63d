"""A match from its start to the rematch: commitments, rounds, results, and that it can be played again bit for bit."""

from __future__ import annotations

import pytest

from services.rules import engine
from services.rules.actions import Draw
from services.rules.events import MatchEndCause, MatchEnded, RoundEnded, RoundStarted
from services.rules.room import actions as a
from services.rules.room import apply as judging
from services.rules.room.apply import apply
from services.rules.room.clock import TimerKind
from services.rules.room.codec import decode, encode
from services.rules.room.events import RematchOffered, SeatRemoved, SeedCommitted
from services.rules.room.state import RoomPhase
from services.rules.room.step import Context
from services.rules.room.views import room_view
from services.rules.views import Phase
from tests.rules.recorded import finished
from tests.rules.rooms import ANN, BOB, CID, DAN, PEOPLE, Stage

OPERATOR = a.Operator()
PRESETS = ["mau-mau-32", "mau-mau-brasil", "uno", "uno-casa", "tranca"]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_actions_give_the_same_rooms_bit_for_bit(preset: str) -> None:
    stage = finished(preset)
    room = None
    for actor, action, ctx in stage.tape:
        room = apply(room, actor, action, Context(**ctx)).room
    assert room is not None
    assert encode(room) == encode(stage.now)


# Rounds.


def test_the_history_of_rounds_adds_up_to_the_scores() -> None:
    stage = finished()
    ended = [event for event in stage.told if isinstance(event, RoundEnded)]
    assert stage.match.points == tuple(event.points for event in ended)
    assert stage.match.round == len(ended) == 3
    assert stage.match.scores == tuple(map(sum, zip(*stage.match.points, strict=True)))
    winners = [event.winner for event in ended if event.winner is not None]
    assert [counts.rounds_won for counts in stage.match.counts] == [winners.count(seat) for seat in range(3)]


def test_to_name_the_suit_of_the_start_card_is_no_turn_of_its_own() -> None:
    for salt in range(200):
        stage = Stage("uno", "ann bob", salt=salt).start()
        if engine.phase(stage.match.state) is Phase.CHOOSE:
            break
    seat = stage.turn
    stage.advance()
    assert [counts.turns for counts in stage.match.counts] == [0, 0]
    stage.advance()
    assert stage.match.counts[seat].turns == 1


def test_the_next_round_is_dealt_when_all_people_are_ready() -> None:
    stage = Stage(people="ann bob", bots=1).start().until_phase(RoomPhase.PAUSE)
    stage.do(ANN, a.ReadyForRound())
    assert not stage.events(RoundStarted)
    stage.do(BOB, a.ReadyForRound())
    assert stage.now.phase is RoomPhase.PLAYING
    assert [event.round for event in stage.events(RoundStarted)] == [2]


def test_a_round_and_the_match_end_once_with_one_result() -> None:
    stage = finished()
    kinds = [type(event).__name__ for event in stage.told]
    assert kinds.count("MatchEnded") == kinds.count("MatchFinished") == 1
    assert kinds.index("MatchEnded") < kinds.index("MatchFinished")
    assert len(stage.last.results) == 1
    for seat in range(3):
        assert stage.refusal(stage.player(seat), a.Act(Draw())) == "MATCH_OVER"


# Results.


def test_scoring_hears_who_played_what_and_how_it_ended() -> None:
    stage = finished(bots=1)
    (result,) = stage.last.results
    assert (result.room_id, result.match_id, result.number) == ("room-1", stage.match.proof.match_id, 1)
    assert (result.family, result.preset, result.label) == ("mau-mau-32", "mau-mau-32", "custom")
    assert result.ruleset_hash == stage.now.ruleset.hash
    assert [(seat.player, seat.is_bot) for seat in result.seats] == [
        ("ann", False),
        ("bob", False),
        ("cid", False),
        ("", True),
    ]
    assert result.cause is MatchEndCause.ROUNDS_PLAYED
    assert result.scores == stage.match.scores
    assert len(result.points) == 3
    assert (result.first_version, result.last_version) == (5, stage.now.version)
    assert all(seat.counts.turns > 0 for seat in result.seats)
    assert all(seat.counts.bot_turns == 0 for seat in result.seats)
    assert {seat.place for seat in result.seats if seat.winner} == {1}
    assert not result.unrated


def test_partners_of_tranca_share_side_and_place() -> None:
    (result,) = finished("tranca").last.results
    assert [seat.side for seat in result.seats] == [0, 1, 0, 1]
    assert result.seats[0].place == result.seats[2].place
    assert len(result.scores) == 2


@pytest.mark.parametrize(("preset", "lower_is_better"), [("mau-mau-32", False), ("mau-mau-brasil", True)])
def test_the_version_limit_ends_the_match_by_the_scores_so_far(
    preset: str, lower_is_better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = "ann bob cid dan"
    stage = Stage(preset, people, options={"match.target": "rounds:9"}).start()
    stage.until(lambda room: room.match is not None and len(room.match.points) == 2)
    limit = stage.now.version - stage.match.first_version + 3
    monkeypatch.setattr(judging, "VERSION_LIMIT", limit)
    stage.until_phase(RoomPhase.FINISHED)
    assert stage.now.version - stage.match.first_version + 1 == limit
    (ended,) = stage.events(MatchEnded)
    assert ended.cause is MatchEndCause.VERSION_LIMIT
    best = min(ended.scores) if lower_is_better else max(ended.scores)
    assert ended.winners == tuple(seat for seat, score in enumerate(ended.scores) if score == best)
    assert stage.last.results[0].cause is MatchEndCause.VERSION_LIMIT
    assert not stage.last.results[0].unrated


def test_an_aborted_match_has_no_winner_and_does_not_count() -> None:
    stage = Stage().start()
    stage.do(OPERATOR, a.AbortMatch())
    (ended,) = stage.events(MatchEnded)
    assert (ended.cause, ended.winners, ended.places) == (MatchEndCause.ABORTED, (), (1, 1, 1))
    assert stage.last.results[0].unrated


# The rematch.


def test_a_rematch_has_a_new_seed_the_next_dealer_and_nobody_ready() -> None:
    stage = finished()
    first = stage.match.proof
    stage.do(BOB, a.Rematch())
    assert stage.events(RematchOffered) == [RematchOffered(seat=1)]
    (committed,) = stage.events(SeedCommitted)
    assert committed.commitment != first.commitment
    assert stage.now.phase is RoomPhase.OPEN
    assert not any(seat.ready for _, seat in stage.now.people())
    stage.start()
    assert stage.match.number == 2
    assert stage.match.proof.dealer == (first.dealer + 1) % 3
    assert stage.match.proof.match_id == committed.match_id
    assert stage.match.scores == ()


def test_who_does_not_confirm_the_rematch_gives_up_the_seat() -> None:
    stage = finished()
    stage.do(ANN, a.Rematch())
    assert {timer.kind for timer in stage.last.clock.pending} == {TimerKind.REMATCH, TimerKind.IDLE}
    stage.do(ANN, a.SetReady(True))
    stage.do(CID, a.SetReady(True))
    stage.fire(TimerKind.REMATCH)
    assert stage.events(SeatRemoved) == [SeatRemoved(seat=1, player="bob")]
    stage.do(ANN, a.Start())
    assert stage.now.phase is RoomPhase.PLAYING
    assert TimerKind.REMATCH not in {timer.kind for timer in stage.last.clock.pending}


def test_who_has_something_new_to_confirm_has_the_whole_time_for_it() -> None:
    """Else whoever comes in the last second is sent away in the next, and a host's change sends everybody away."""
    stage = finished()
    stage.do(BOB, a.LeaveSeat())
    stage.do(ANN, a.Rematch())
    restarts = []
    for actor, action in (
        (CID, a.SetReady(True)),
        (DAN, a.TakeSeat("Dan", invite=stage.now.generation)),
        (ANN, a.ChangeOptions(settings={"turn_seconds": 20})),
    ):
        stage.do(actor, action)
        assert TimerKind.REMATCH in {timer.kind for timer in stage.last.clock.pending}
        restarts.append(stage.last.clock.restart_turn)
    assert restarts == [False, True, True]


def test_a_match_goes_on_to_its_end_with_nobody_but_the_clock() -> None:
    """Every turn runs out: nothing hangs, and each seat that is silent is played by a bot in the end."""
    stage = Stage(people="ann bob", options={"match.target": "single"}).start()
    for _ in range(2_000):
        if stage.now.phase is RoomPhase.FINISHED:
            break
        (timer, *_) = stage.last.clock.pending
        stage.fire(timer.kind)
    assert stage.now.phase is RoomPhase.FINISHED
    assert all(counts.bot_turns > 0 for counts in stage.match.counts)
    assert stage.refusal(PEOPLE["ann"], a.TakeBack()) == "MATCH_OVER"


@pytest.mark.parametrize(("first", "second"), [("mau-mau-32", "tranca"), ("tranca", "uno"), ("uno-casa", "mau-mau-32")])
def test_a_rematch_may_be_of_another_game_and_what_was_stays_as_it_was(first: str, second: str) -> None:
    stage = Stage(first, people="ann bob cid dan").start()
    stage.advance()
    stage.do(a.Operator(), a.AbortMatch())
    stage.do(ANN, a.Rematch())
    shown = room_view(stage.now, None).match
    for preset in (second, first, second):
        stage.do(ANN, a.ChangeOptions(preset))  # what is stored can be read again: `Stage.do`
        assert room_view(decode(encode(stage.now)), None).match == shown
    stage.start()
    assert stage.match.number == 2
    stage.advance()
    stage.do(a.Operator(), a.AbortMatch())
