"""Seats, the host's rights, options and settings before a match."""

from __future__ import annotations

import pytest

from services.rules.bots.levels import BotLevel
from services.rules.room import actions as a
from services.rules.room.apply import apply
from services.rules.room.events import (
    BotAdded,
    InviteRotated,
    Muted,
    OptionsChanged,
    ReadyChanged,
    RoomCreated,
    SeatRemoved,
    SeatTaken,
    SeedCommitted,
)
from services.rules.room.reasons import AlreadyDone, RoomRefusal
from services.rules.room.settings import SETTINGS, RoomSettings, Spectators, Visibility, change_settings
from services.rules.room.state import RoomPhase
from services.rules.room.step import Context
from services.rules.ruleset import RulesetError
from tests.rules.rooms import ANN, BOB, CID, DAN, EVE, SERVER, Stage, secret

PUBLIC: dict[str, object] = {"visibility": Visibility.PUBLIC}


def creation(**more: object) -> a.CreateRoom:
    known: dict[str, object] = {"room_id": "r", "preset": "mau-mau-32", "people": (a.Person("ann", "Ann"),), **more}
    return a.CreateRoom(**known)  # type: ignore[arg-type]


def refused(action: a.RoomAction) -> RoomRefusal:
    with pytest.raises(RoomRefusal) as found:
        apply(None, SERVER, action, Context(match_id="m", seed=secret("m")))
    return found.value


# Making a room.


def test_the_first_version_tells_the_room_its_commitment_and_its_seats() -> None:
    stage = Stage(people="ann bob", bots=1, settings={"title": "Skat? Nein!"})
    assert [type(event) for event in stage.last.events] == [RoomCreated, SeedCommitted, SeatTaken, SeatTaken, BotAdded]
    assert stage.now.version == 1
    assert stage.now.host == "ann"
    assert stage.now.settings.seats == 4


def test_people_may_be_put_on_certain_seats() -> None:
    people = (a.Person("ann", "Ann", 2), a.Person("bob", "Bob"), a.Person("cid", "Cid", 0))
    with pytest.raises(RoomRefusal, match="SEAT_TAKEN"):
        apply(None, SERVER, creation(people=people), Context(match_id="m", seed=secret("m")))
    room = apply(None, SERVER, creation(people=people[:2]), Context(match_id="m", seed=secret("m"))).room
    assert (room.seat_of("ann"), room.seat_of("bob")) == (2, 0)


def test_a_room_needs_a_person() -> None:
    assert refused(creation(people=())).reason.name == "NO_PERSON_LEFT"


def test_nobody_sits_on_two_seats() -> None:
    twice = (a.Person("ann", "Ann"), a.Person("ann", "Ann"))
    assert refused(creation(people=twice)).metadata["field"] == "people"


@pytest.mark.parametrize(
    ("preset", "seats", "expected"), [("mau-mau-32", 5, "2 to 4"), ("tranca", 3, "4 to 4"), ("uno", 1, "2 to 10")]
)
def test_the_seats_follow_from_the_ruleset(preset: str, seats: int, expected: str) -> None:
    found = refused(creation(preset=preset, settings={"seats": seats}))
    assert found.metadata == {"field": "settings.seats", "value": str(seats), "expected": expected}


def test_more_people_than_the_ruleset_allows_are_refused() -> None:
    crowd = tuple(a.Person(f"p{n}", "P") for n in range(4))
    assert refused(creation(people=crowd, bots=1)).metadata["field"] == "settings.seats"


def test_the_eleventh_does_not_get_into_a_room_of_ten() -> None:
    stage = Stage("uno", people="ann", bots=9, settings={"seats": 10})
    assert stage.refusal(BOB, a.TakeSeat("Bob", invite=1)) == "ROOM_FULL"


def test_an_unknown_ruleset_or_option_is_refused() -> None:
    for wrong in (creation(preset="poker"), creation(options={"deal.cards": 3}), creation(options={"deal.hand": 99})):
        with pytest.raises(RulesetError):
            apply(None, SERVER, wrong, Context(match_id="m", seed=secret("m")))


def test_a_caller_without_seed_or_match_id_is_at_fault() -> None:
    for ctx in (Context(seed=bytes(32)), Context(match_id="m", seed=bytes(31))):
        with pytest.raises(ValueError, match="match id and a seed"):
            apply(None, SERVER, creation(), ctx)


def test_without_a_room_nothing_but_its_making_is_possible() -> None:
    assert refused(a.AbortMatch()).reason.name == "ROOM_NOT_FOUND"


# Settings.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("turn_seconds", 4),
        ("turn_seconds", 301),
        ("turn_seconds", True),
        ("bank_seconds", -1),
        ("bank_seconds", 601),
        ("pause_seconds", 61),
        ("spectator_delay_seconds", 9),
        ("visibility", 1),
        ("spectators", "on"),
        ("chat", 1),
        ("title", "x" * 41),
        ("title", "a\nb"),
        ("title", "a\u202eb"),
        ("speed", 3),
    ],
)
def test_a_setting_out_of_bounds_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(RoomRefusal) as found:
        change_settings(RoomSettings(), {name: value})
    assert found.value.reason.name == "INVALID_FIELD"
    assert found.value.metadata["field"] == f"settings.{name}"
    assert found.value.metadata["expected"]


def test_every_setting_is_declared_and_its_default_allowed() -> None:
    assert set(SETTINGS) == set(RoomSettings.__struct_fields__)
    assert all(setting.allows(getattr(RoomSettings(), name)) for name, setting in SETTINGS.items())
    chosen = {"spectators": Spectators.DELAYED, "turn_seconds": 5, "title": "Für alle ♥"}
    assert change_settings(RoomSettings(), chosen).title == "Für alle ♥"


# Taking seats.


def test_joining_a_room_that_one_is_in_changes_nothing() -> None:
    stage = Stage()
    assert stage.done_already(BOB, a.TakeSeat("Bob")) == 1
    assert stage.done_already(BOB, a.TakeSeat("Other name", 1)) == 1


def test_a_player_moves_to_a_free_seat_and_has_to_be_ready_anew() -> None:
    stage = Stage()
    stage.do(BOB, a.SetReady(True))
    stage.do(BOB, a.TakeSeat("Bob", 3))
    assert stage.now.seats[1] is None
    assert stage.now.seats[3] is not None
    assert not stage.now.seats[3].ready


@pytest.mark.parametrize(("seat", "reason"), [(0, "SEAT_TAKEN"), (4, "NO_SUCH_SEAT"), (-1, "NO_SUCH_SEAT")])
def test_a_seat_that_is_taken_or_none_is_refused(seat: int, reason: str) -> None:
    stage = Stage()
    assert stage.refusal(BOB, a.TakeSeat("Bob", seat)) == reason
    assert stage.refusal(DAN, a.TakeSeat("Dan", seat, invite=1)) == reason
    assert stage.refusal(ANN, a.AddBot(BotLevel.RANDOM, seat)) == reason


def test_a_seat_goes_to_a_person_or_to_a_bot_but_not_to_both() -> None:
    stage = Stage()
    stage.do(ANN, a.AddBot(BotLevel.HEURISTIC, 3))
    assert stage.refusal(DAN, a.TakeSeat("Dan", 3, invite=1)) == "SEAT_TAKEN"
    assert stage.now.seat_of("dan") is None
    stage.do(ANN, a.RemoveSeat(3))
    stage.do(DAN, a.TakeSeat("Dan", 3, invite=1))
    assert stage.refusal(ANN, a.AddBot(BotLevel.HEURISTIC, 3)) == "SEAT_TAKEN"


def test_a_name_gives_no_right_to_a_seat() -> None:
    stage = Stage(settings=PUBLIC)
    stage.do(DAN, a.TakeSeat("Bob"))
    assert stage.now.seat_of("dan") == 3
    assert stage.now.seat_of("bob") == 1


def test_a_private_room_does_not_exist_for_who_has_no_invite_code_of_today() -> None:
    stage = Stage()
    assert stage.refusal(DAN, a.TakeSeat("Dan")) == "ROOM_NOT_FOUND"
    stage.do(ANN, a.RotateInvite())
    assert stage.events(InviteRotated)
    assert stage.refusal(DAN, a.TakeSeat("Dan", invite=1)) == "ROOM_NOT_FOUND"
    stage.do(DAN, a.TakeSeat("Dan", invite=2))


# The host.


def test_who_is_banned_does_not_come_back() -> None:
    stage = Stage(settings=PUBLIC)
    stage.do(ANN, a.RemoveSeat(1, ban=True))
    assert stage.events(SeatRemoved) == [SeatRemoved(seat=1, player="bob", banned=True)]
    assert stage.refusal(BOB, a.TakeSeat("Bob")) == "BANNED"
    stage.do(ANN, a.RemoveSeat(2))
    stage.do(CID, a.TakeSeat("Cid"))


def test_the_host_does_not_remove_the_own_seat() -> None:
    assert Stage().refusal(ANN, a.RemoveSeat(0)) == "INVALID_FIELD"
    assert Stage().refusal(ANN, a.RemoveSeat(3)) == "SEAT_IS_FREE"
    assert Stage().refusal(ANN, a.RemoveSeat(7)) == "NO_SUCH_SEAT"


def test_a_player_is_muted_once() -> None:
    stage = Stage()
    stage.do(ANN, a.Mute(1, True))
    assert stage.events(Muted) == [Muted(seat=1, muted=True)]
    assert stage.done_already(ANN, a.Mute(1, True)) == 2
    stage.do(ANN, a.Mute(1, False))


def test_changed_options_take_back_every_ready() -> None:
    stage = Stage()
    for player in (ANN, BOB, CID):
        stage.do(player, a.SetReady(True, b"mine"))
    stage.do(ANN, a.ChangeOptions("uno", {"rule7": "swap"}, {"turn_seconds": 15}))
    assert not any(seat.ready or seat.contribution for _, seat in stage.now.people())
    assert stage.now.ruleset.options["rule7"] == "swap"
    assert stage.now.chosen == {"rule7": "swap"}
    assert stage.now.settings.turn_seconds == 15
    (changed,) = stage.events(OptionsChanged)
    assert (changed.ruleset.preset, changed.ruleset.options) == ("uno", {"rule7": "swap"})


def test_another_ruleset_brings_its_number_of_seats_and_nobody_loses_one() -> None:
    stage = Stage("uno", people="ann bob cid", settings={"seats": 10})
    stage.do(CID, a.TakeSeat("Cid", 9))
    stage.do(ANN, a.AddBot(BotLevel.RANDOM, 7))
    stage.do(ANN, a.ChangeOptions("mau-mau-32"))
    assert [number for number, _ in stage.now.taken()] == [0, 1, 2, 3]
    assert SeatTaken(seat=3, player="cid", name="Cid") in stage.last.events
    assert stage.refusal(EVE, a.TakeSeat("Eve", invite=1)) == "ROOM_FULL"


def test_a_room_does_not_shrink_below_its_people() -> None:
    stage = Stage()
    assert stage.refusal(ANN, a.ChangeOptions(settings={"seats": 2})) == "INVALID_FIELD"
    stage.do(ANN, a.ChangeOptions(settings={"seats": 3}))
    assert stage.refusal(DAN, a.TakeSeat("Dan", invite=1)) == "ROOM_FULL"


def test_a_contribution_has_32_bytes_at_most() -> None:
    stage = Stage()
    assert stage.refusal(BOB, a.SetReady(True, bytes(33))) == "CONTRIBUTION_TOO_LONG"
    stage.do(BOB, a.SetReady(True, bytes(32)))
    stage.do(BOB, a.SetReady(False, b"ignored"))
    assert stage.events(ReadyChanged) == [ReadyChanged(seat=1, ready=False)]
    assert stage.now.seats[1] is not None
    assert stage.now.seats[1].contribution == b""


# Starting.


def test_the_match_waits_for_enough_seats_and_for_everybody() -> None:
    stage = Stage(people="ann")
    assert stage.refusal(ANN, a.Start()) == "TOO_FEW_PLAYERS"
    stage.do(BOB, a.TakeSeat("Bob", invite=1))
    assert stage.refusal(ANN, a.Start()) == "NOT_READY"
    stage.do(BOB, a.SetReady(True))
    stage.do(ANN, a.Start())
    assert stage.now.phase is RoomPhase.PLAYING


def test_free_seats_between_people_are_left_out_of_the_match() -> None:
    stage = Stage()
    stage.do(ANN, a.AddBot(BotLevel.RANDOM, 3))
    stage.do(BOB, a.LeaveSeat())
    stage.start()
    assert [seat.name for _, seat in stage.now.taken()] == ["Ann", "Cid", "Bot 1"]
    assert SeatTaken(seat=1, player="cid", name="Cid") in stage.last.events
    assert BotAdded(seat=2, level=BotLevel.RANDOM, name="Bot 1") in stage.last.events
    assert stage.match.proof.seats == 3


# The room list.


def test_the_list_shows_open_public_rooms_and_only_changes_are_written() -> None:
    stage = Stage(settings={**PUBLIC, "title": "Come in"})
    assert stage.last.relist
    line = stage.last.listing
    assert line is not None
    assert (line.seats, line.free_seats, line.people, line.title, line.label) == (4, 1, 3, "Come in", "mau-mau-32")
    assert not stage.do(BOB, a.SetReady(True)).relist
    step = stage.do(DAN, a.TakeSeat("Dan"))
    assert step.relist
    assert step.listing is not None
    assert step.listing.free_seats == 0
    stage.start()
    assert stage.last.relist
    assert stage.last.listing is None


def test_a_private_room_is_in_no_list() -> None:
    stage = Stage()
    assert stage.last.listing is None
    assert not stage.last.relist
    assert stage.do(ANN, a.ChangeOptions(settings=PUBLIC)).listing is not None


def test_making_a_room_that_exists_answers_with_it() -> None:
    stage = Stage()
    with pytest.raises(AlreadyDone) as done:
        apply(stage.now, SERVER, creation(), Context())
    assert done.value.version == 1
