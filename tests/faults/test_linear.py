"""The check of the order of calls itself: it passes what can have happened, and finds what cannot."""

from __future__ import annotations

from dataclasses import replace

from services.rules.room.actions import CreateRoom, Matchmaker, Person, Player, SetReady, Start
from services.rules.room.apply import apply
from services.rules.room.journal import encode_action
from services.rules.room.state import Room
from services.rules.room.step import Context
from tests.faults.history import Call, Outcome, Records, Sighting
from tests.faults.linear import disorders

PEOPLE = ("ana", "bo")


def states() -> list[Room]:
    """Made at version 1; ana is ready at 2, bo at 3, and ana starts at 4."""
    people = tuple(Person(name, name.title()) for name in PEOPLE)
    made = CreateRoom("room", "mau-mau-32", people, settings={"seats": 2})
    rooms = [apply(None, Matchmaker(), made, Context(match_id="m_1", seed=bytes(32))).room]
    for name, action in (("ana", SetReady(True)), ("bo", SetReady(True)), ("ana", Start())):
        rooms.append(apply(rooms[-1], Player(name), action, Context()).room)
    return rooms


def call(player: str, action: SetReady | Start, version: int, began: int) -> Call:
    """Accepted, in 10 ns."""
    made = Call(player, player, "room", "call", encode_action(action), 0, began)
    return replace(made, outcome=Outcome.ACCEPTED, returned=began + 10, version=version)


CALLS = [call("ana", SetReady(True), 2, 100), call("bo", SetReady(True), 3, 120), call("ana", Start(), 4, 140)]


def refused(reason: str, began: int, ended: int) -> Call:
    """A start that did not come about."""
    return replace(call("ana", Start(), 0, began), outcome=Outcome.REFUSED, returned=ended, reason=reason)


def said(*calls: Call, seen: tuple[Sighting, ...] = ()) -> list[str]:
    return [disorder.said for disorder in disorders(states(), Records(list(calls), list(seen)))]


def test_calls_that_follow_one_another_fit() -> None:
    assert said(*CALLS, seen=(Sighting("bo", "room", 2, b"", at=112), Sighting("bo", "room", 3, b"", at=125))) == []


def test_a_refusal_fits_where_a_state_of_its_time_gives_its_reason() -> None:
    assert said(*CALLS, refused("NOT_READY", 111, 119)) == []
    assert said(*CALLS, refused("NOT_READY", 111, 131)) == []
    assert said(*CALLS, refused("MATCH_RUNNING", 151, 152)) == []


def test_a_refusal_by_an_older_state_than_was_known_does_not_fit() -> None:
    assert len(said(*CALLS, refused("NOT_READY", 131, 139))) == 1
    assert len(said(*CALLS[:2], refused("NOT_READY", 122, 125), seen=(Sighting("bo", "room", 3, b"", at=121),))) == 1


def test_a_refusal_by_a_state_that_was_not_there_yet_does_not_fit() -> None:
    assert len(said(*CALLS, refused("MATCH_RUNNING", 111, 119))) == 1


def test_a_refusal_with_another_reason_does_not_fit() -> None:
    assert len(said(*CALLS, refused("NOT_HOST", 111, 119))) == 1


def test_refusals_for_want_of_redis_are_not_for_the_rules_to_judge() -> None:
    assert said(*CALLS, refused("STORE_UNAVAILABLE", 111, 119)) == []


def test_an_accepted_call_comes_after_all_that_was_known_before_it() -> None:
    late = replace(CALLS[0], called=131, returned=133)
    assert len(said(late, *CALLS[1:])) == 1
    assert len(said(*CALLS, seen=(Sighting("bo", "room", 3, b"", at=99),))) == 3


def test_nobody_sees_a_version_before_it_was_asked_for() -> None:
    assert said(*CALLS, seen=(Sighting("bo", "room", 4, b"", at=139),)) == [
        "call of ana began when 4 had been reached",
        "was seen before the call of ana began",
    ]
