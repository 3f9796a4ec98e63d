"""What must hold at any moment of any match of Tranca."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from services.rules import engine
from services.rules.actions import Discard, DrawStock, Keep, Redraw
from services.rules.cards import PACKS, Card
from services.rules.events import Event
from services.rules.reasons import IllegalAction
from services.rules.tranca.state import TrancaState
from services.rules.views import Phase
from tests.rules.tranca_play import Moment, any_action

RUN: Final = "456789TJQKA"
ALL_CARDS: Final = sorted(c.code for c in PACKS["french52"] * 2)


def check_table(moment: Moment) -> None:
    """Cheap enough for every moment: no card is lost or doubled, the seat on turn can act, and cards lie where they
    may."""
    assert [c.code for c in engine.cards(moment.state)] == ALL_CARDS
    assert engine.default_action(moment.state, moment.seat) in engine.legal_actions(moment.state, moment.seat)
    _cards_lie_where_they_may(moment.state)


def _cards_lie_where_they_may(state: TrancaState) -> None:
    """Red threes on the table only, black ones in no meld; a pozzetto for each partnership at most; nobody without
    cards."""
    held = [c.text() for hand in (*state.hands, state.pile) for c in hand]
    assert not {"3D", "3H"} & set(held)
    assert all(state.hands)
    assert len(state.pozzetti) + sum(seat is not None for seat in state.taken) <= 2
    assert all(seat is None or seat % 2 == side for side, seat in enumerate(state.taken))
    for meld in state.melds:
        naturals = [c.text() for c in meld.cards if c.text()[0] != "2"]
        ranks, suits = [text[0] for text in naturals], {text[1] for text in naturals}
        is_set, dirty = len(set(ranks)) == 1, len(naturals) < len(meld.cards)
        assert "3" not in ranks
        assert len(naturals) >= 2
        assert is_set or (len(suits) == 1 and len(set(ranks)) == len(ranks) and len(meld.cards) <= len(RUN))
        counts = len(meld.cards) >= 7 and (not is_set or state.options.set_canastas)
        assert meld.canasta == (("dirty" if dirty else "clean") if counts else "none")


def check_end(last: Moment) -> None:
    """A deal gives what its cards are worth, counted anew from faces and options; who closed it had the right to."""
    before, options = last.state, last.state.ruleset.options
    after = engine.apply(before, last.seat, last.action, last.shuffler).state
    if after.phase not in (Phase.ROUND_OVER, Phase.MATCH_OVER):
        return
    wanted = [_points_of(after, side, options) for side in (0, 1)]
    assert list(after.last_round.points) == wanted
    assert after.scores == [score + points for score, points in zip(before.scores, wanted, strict=True)]
    if after.last_round.winner is not None and options["close.requires"] != "none":
        kinds = {meld.canasta for meld in after.melds if meld.partnership == after.last_round.winner}
        assert kinds & ({"clean"} if options["close.requires"] == "clean" else {"clean", "dirty"})


def _points_of(state: TrancaState, side: int, options: Mapping[str, Any]) -> int:
    melds = [meld for meld in state.melds if meld.partnership == side]
    canastas = [meld.canasta for meld in melds]
    points: int = sum(_worth(c, options) for meld in melds for c in meld.cards)
    points += options["bonus.clean"] * canastas.count("clean") + options["bonus.dirty"] * canastas.count("dirty")
    points += options["bonus.fullRun"] * [tuple(c.text()[0] for c in meld.cards) for meld in melds].count(tuple(RUN))
    points += options["bonus.close"] if state.last_round is not None and state.last_round.winner == side else 0
    points -= 0 if state.used[side] else options["penalty.pozzetto"]
    reds = len(state.red_threes[side])
    threes = reds * options["redThree.points"] + (options["redThree.allFour"] if reds == 4 else 0)
    points += threes if {"clean", "dirty"} & set(canastas) else -threes
    unused = None if state.used[side] or options["pozzetto.unusedCardsCount"] else state.taken[side]
    left = [c for seat in range(side, state.seats, 2) if seat != unused for c in state.hands[seat]]
    return points + sum(options["blackThree.inHand"] if c.text()[0] == "3" else -_worth(c, options) for c in left)


def _worth(c: Card, options: Mapping[str, Any]) -> int:
    """The three tables of rules.md 5.1 and D-2."""
    rank = c.text()[0]
    if options["score.cards"] == "flat10":
        return 10
    if options["score.cards"] == "number_value":
        return {"A": 1, "J": 30, "Q": 10, "K": 10, "T": 10}.get(rank) or int(rank)
    return 15 if rank == "A" else 5 if rank in "4567" else 10


def check_moment(moment: Moment, rng: random.Random) -> None:
    """Listed actions are accepted and others refused, a refusal changes nothing, the stored form is the state, and in
    place the same happens."""
    _check_listed_actions(moment, rng)
    _check_refusals(moment, rng)
    _check_stored_form(moment)
    _check_in_place(moment)


def _check_listed_actions(moment: Moment, rng: random.Random) -> None:
    """What is listed is accepted, once; nobody else may act."""
    state, seat = moment.state, moment.seat
    listed = engine.legal_actions(state, seat)
    assert len(listed) == len(set(listed))
    for action in rng.sample(listed, min(3, len(listed))):
        engine.apply(state, seat, action, moment.shuffler)
    assert not any(engine.legal_actions(state, other) for other in range(state.seats) if other != seat)


def _check_refusals(moment: Moment, rng: random.Random) -> None:
    """An action out of the blue is refused, or listed; a refused one changes nothing, also in place."""
    state, seat = moment.state, moment.seat
    action = any_action(state, rng)
    stored = engine.encode(state)
    in_place = engine.copy(state)
    by = seat if rng.random() < 0.8 else (seat + 1) % state.seats
    try:
        engine.advance(in_place, by, action, moment.shuffler)
    except IllegalAction:
        assert engine.encode(in_place) == stored
    else:
        assert by == seat
        if isinstance(action, DrawStock | Redraw | Discard | Keep):
            assert action in engine.legal_actions(state, seat)
    assert engine.encode(state) == stored


def _check_stored_form(moment: Moment) -> None:
    stored = engine.encode(moment.state)
    read = engine.decode(moment.state.ruleset, stored)
    assert read == moment.state
    assert engine.encode(read) == stored


def _check_in_place(moment: Moment) -> None:
    """`advance` does what `apply` does."""
    after = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
    in_place = engine.copy(moment.state)
    events: list[Event] = []
    engine.advance(in_place, moment.seat, moment.action, moment.shuffler, events)
    assert in_place == after.state
    assert events == after.events
