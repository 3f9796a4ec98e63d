"""What a seat may do, listed: `legal_actions`, `penal_actions`, `default_action` and who has to act."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Final

from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Call,
    Challenge,
    Choose,
    Concede,
    Draw,
    JumpIn,
    Pass,
    Play,
    PlayMany,
    React,
    Speak,
    Word,
)
from services.rules.cards import Card, Suit
from services.rules.shedding.calls import Verdict, verdict_on_accusation, verdict_on_call
from services.rules.shedding.card_effects import previous_seat
from services.rules.shedding.effects import Effect
from services.rules.shedding.finish import must_contest
from services.rules.shedding.fit import answers_now, fit_of, may_be_last, refusal_of
from services.rules.shedding.groups import groups_of
from services.rules.shedding.jump_in import may_jump_in
from services.rules.shedding.laying import WISHES, effect_of
from services.rules.shedding.plays import DOES_NOT_FIT, refusal_of_card
from services.rules.shedding.state import State
from services.rules.shedding.turns import refusal_of_draw, refusal_of_pass
from services.rules.views import Phase

MOST_LISTED: Final = 200
DRAW: Final = Draw()
PASS: Final = Pass()

Maker = Callable[..., Action]


def legal_actions(s: State, seat: int) -> list[Action]:
    """Everything that this seat may do now, penalties left out."""
    if not 0 <= seat < s.seats:
        return []
    actions = _BY_PHASE[s.phase](s, seat)
    if s.phase is Phase.PLAY or s.phase is Phase.CHALLENGE or s.phase is Phase.REACT:
        if s.exposed is not None and s.exposed != seat:
            actions.append(Accuse(s.exposed))
        if len(s.hands[seat]) <= 2:
            _add_calls(s, seat, actions)
    return actions


def _in_play(s: State, seat: int) -> list[Action]:
    actions: list[Action] = []
    if seat == s.turn:
        actions = _plays(s, seat)
        if not s.has_drawn and refusal_of_draw(s, seat) is None:
            actions.append(DRAW)
        if (s.has_drawn or s.kind is not None) and refusal_of_pass(s, seat) is None:
            actions.append(PASS)
    if s.rules.jump_in and may_jump_in(s, seat, s.top):
        actions.extend(_with_everything(s, seat, (s.top,), JumpIn))
    return actions if len(actions) <= MOST_LISTED else _bounded(actions)


def _plays(s: State, seat: int) -> list[Action]:
    hand = s.hands[seat]
    cards: list[Card] | tuple[Card, ...] = hand
    if s.has_drawn and s.drew is not None and s.rules.draw_play != "any":
        cards = (s.drew,) if s.rules.draw_play == "drawn_only" else ()
    plays, nothing_to_call = fit_of(s).plays, len(hand) > 2
    actions: list[Action] = []
    for card in dict.fromkeys(cards):
        ready = plays[card]
        if ready and nothing_to_call and not (s.rules.strict_four and refusal_of(s, seat, card)):
            actions += ready
        elif ready == () or refusal_of(s, seat, card) is not None:
            continue
        elif ready and len(hand) == 2:
            actions += _with_calls(s, hand, card, ready)
        else:
            actions += _with_everything(s, seat, (card,), Play)
    if s.rules.any_groups:
        _add_groups(s, seat, actions)
    return actions


def _with_calls(s: State, hand: list[Card], card: Card, ready: tuple[Play, ...]) -> list[Play]:
    """The plays that leave one card, without and with a call."""
    seat = s.turn
    draws_itself = s.rules.effect[card] is Effect.PREVDRAW and previous_seat(s, seat) == seat
    if s.rules.before_play or s.said[seat] is not None or draws_itself:
        return list(ready)
    left = hand[1 if hand[0] is card else 0 :][:1]
    return [
        play if word is None else Play(card, play.wish, word) for play in ready for word in (None, *_words(s, left))
    ]


def _add_groups(s: State, seat: int, actions: list[Action]) -> None:
    ready, size = s.rules.plays, len(s.hands[seat])
    for group in groups_of(s, seat):
        if size - len(group) > 1 and group[-1] in ready:
            actions.append(PlayMany(group))
        elif len(actions) < MOST_LISTED:
            actions.extend(_with_everything(s, seat, group, PlayMany))


def _with_everything(s: State, seat: int, cards: tuple[Card, ...], make: Maker) -> Iterator[Action]:
    """The action with each suit, target, gift and call that make a difference."""
    left = [*s.hands[seat]]
    for card in cards:
        left.remove(card)
    jumped_in = make is JumpIn
    effect = effect_of(s, cards, jumped_in)
    if not left and not may_be_last(s.rules, cards[-1]):
        return
    what = cards if make is PlayMany else cards[0]
    for wish in _wishes(s, seat, effect, cards[-1], bool(left)):
        for target, gift in _targets(s, seat, effect, left):
            for call in _calls_with(s, seat, effect, left, target, gift):
                given = {"wish": wish} if wish is not None else {}
                yield make(what, call=call, target=target, give=gift, **given)


def _wishes(s: State, seat: int, effect: Effect, card: Card, has_left: bool) -> tuple[Suit | None, ...]:
    if effect in WISHES and (has_left or must_contest(s, seat, card)):
        return s.rules.suits
    return (None,)


def _targets(s: State, seat: int, effect: Effect, left: list[Card]) -> Iterator[tuple[int | None, tuple[Card, ...]]]:
    if not left or effect is not Effect.SWAP_MUST:
        yield None, ()
    if not left:
        return
    others = [other for other in range(s.seats) if other != seat]
    if effect in (Effect.SWAP_MUST, Effect.SWAP_MAY):
        yield from ((other, ()) for other in others)
    if effect is Effect.GIVE and len(left) >= (2 if s.rules.gift_may_empty else 3):
        gifts = dict.fromkeys(combinations(sorted(left, key=lambda card: card.code), 2))
        for gift in list(gifts)[: MOST_LISTED // len(others)]:
            yield from ((other, gift) for other in others)


def _bounded(actions: list[Action]) -> list[Action]:
    """At most MOST_LISTED, as far as gifts can be left out for it: some of each card's gifts stay."""
    surplus = len(actions) - MOST_LISTED
    gifts = [action for action in actions if isinstance(action, (Play, PlayMany, JumpIn)) and action.give]
    step = -(-len(gifts) // max(1, len(gifts) - surplus))
    kept = set(gifts[::step]) if gifts else set()
    return [action for action in actions if not getattr(action, "give", ()) or action in kept]


def _calls_with(
    s: State, seat: int, effect: Effect, left: list[Card], target: int | None, gift: tuple[Card, ...]
) -> tuple[Word | None, ...]:
    """With and without a call where the action leaves one card."""
    if s.rules.before_play:
        return (None,)
    held = list(left)
    for card in gift:
        held.remove(card)
    if effect is Effect.ROTATE and left:
        held = s.hands[(seat - s.direction) % s.seats]
    elif effect in (Effect.SWAP_MUST, Effect.SWAP_MAY) and target is not None:
        held = s.hands[target]
    elif effect is Effect.PREVDRAW and left and previous_seat(s, seat) == seat:
        return (None,)
    in_force = s.said[seat] is not None and len(held) <= len(left)
    if len(held) != 1 or in_force:
        return (None,)
    return (None, *_words(s, held))


def _words(s: State, held: list[Card]) -> tuple[Word, ...]:
    """Both words where it makes a difference: with a Jack left under `call.finalJack`."""
    rules = s.rules
    if rules.final_jack and any(card in rules.wilds for card in held):
        return rules.words
    return rules.one_word


def _add_calls(s: State, seat: int, actions: list[Action]) -> None:
    if verdict_on_call(s, seat) is Verdict.STANDS:
        actions.extend(Call(word) for word in _words(s, s.hands[seat]))


def _in_challenge(s: State, seat: int) -> list[Action]:
    if seat != s.turn:
        return []
    return [Accept(), Challenge(), *_plays(s, seat)]


def _in_choice(s: State, seat: int) -> list[Action]:
    return [Choose(suit) for suit in s.rules.suits] if seat == s.chooser else []


def _in_reaction(s: State, seat: int) -> list[Action]:
    return [React()] if seat in s.waiting else []


def _in_contest(s: State, seat: int) -> list[Action]:
    return [Accuse(s.finisher), Concede()] if seat in s.waiting else []


def _in_answer(s: State, seat: int) -> list[Action]:
    if seat not in s.waiting:
        return []
    hand = s.hands[seat]
    actions: list[Action] = [Concede()]
    for card in dict.fromkeys(hand):
        if answers_now(s, card):
            left = [other for other in hand if other is not card]
            calls = _words(s, left) if len(hand) == 2 and not s.rules.before_play and s.said[seat] is None else ()
            actions.extend(Play(card, call=call) for call in (None, *calls))
    return actions


def _when_over(s: State, seat: int) -> list[Action]:
    return []


_BY_PHASE: Final = {
    Phase.PLAY: _in_play,
    Phase.CHALLENGE: _in_challenge,
    Phase.CHOOSE: _in_choice,
    Phase.REACT: _in_reaction,
    Phase.CONTEST: _in_contest,
    Phase.ANSWER: _in_answer,
    Phase.ROUND_OVER: _when_over,
    Phase.MATCH_OVER: _when_over,
}


def penal_actions(s: State, seat: int) -> list[Action]:
    """What would be accepted but only costs cards."""
    actions: list[Action] = []
    if not 0 <= seat < s.seats:
        return actions
    if s.phase in (Phase.PLAY, Phase.CHALLENGE, Phase.REACT):
        if verdict_on_call(s, seat) is Verdict.COSTS:
            actions.append(Call(s.rules.words[0]))
        if s.rules.false_accusation:
            for target in (None, *range(s.seats)):
                if verdict_on_accusation(s, seat, target) is Verdict.COSTS:
                    actions.append(Accuse(target))
                    break  # one stands for all
    if s.phase is Phase.PLAY and s.rules.penal_plays and seat == s.turn:
        hand = dict.fromkeys(s.hands[seat])
        actions.extend(Play(card) for card in hand if refusal_of_card(s, seat, card) in DOES_NOT_FIT)
    if s.silence and s.phase not in (Phase.ROUND_OVER, Phase.MATCH_OVER):
        actions.append(Speak())
    return actions


def must_act(s: State) -> tuple[int, ...]:
    """The seats that the table waits for."""
    if s.phase is Phase.PLAY or s.phase is Phase.CHALLENGE:
        return (s.turn,)
    if s.phase is Phase.CHOOSE:
        assert s.chooser is not None
        return (s.chooser,)
    return tuple(s.waiting)


def may_act(s: State) -> tuple[int, ...]:
    """Other seats that have a legal action: they may accuse, call late, or jump in."""
    if s.phase in (Phase.ROUND_OVER, Phase.MATCH_OVER):
        return ()
    waited_for = must_act(s)
    return tuple(seat for seat in range(s.seats) if seat not in waited_for and legal_actions(s, seat))


def default_action(s: State, seat: int) -> Action:
    """What the clock does for a silent seat: take, draw, else pass (a card must be played where nothing else is
    allowed); accept; choose the suit it holds most of; concede; react."""
    if s.phase is Phase.CHALLENGE:
        return Accept()
    if s.phase is Phase.CHOOSE:
        return Choose(_most_frequent_suit(s, seat))
    if s.phase is Phase.REACT:
        return React()
    if s.phase in (Phase.CONTEST, Phase.ANSWER):
        return Concede()
    if refusal_of_draw(s, seat) is None:
        return DRAW
    if refusal_of_pass(s, seat) is None:
        return PASS
    return _plays(s, seat)[0]


def _most_frequent_suit(s: State, seat: int) -> Suit:
    held = [card.suit for card in s.hands[seat]]
    return max(s.rules.suits, key=held.count)
