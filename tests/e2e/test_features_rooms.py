"""Making, finding and keeping rooms: codes, lists, hosts, options, names, and what the server says of itself."""

from __future__ import annotations

import maumau
from maumau.v1 import actions_pb2, events_pb2, matchmaking_pb2, room_pb2, rules_pb2, settings_pb2

from services.local.stack import Stack
from tests.e2e.calls import LIMIT_SECONDS, channel_to, sign_in
from tests.e2e.ears import ears
from tests.e2e.eventually import eventually
from tests.e2e.lounge import lounge, play, refused, sees

Action = actions_pb2.Action
ROTATE = Action(rotate_invite=Action.RotateInvite())
PUBLIC = settings_pb2.VISIBILITY_PUBLIC


def people(view: room_pb2.RoomView) -> list[str]:
    return [seat.display_name for seat in view.seats if seat.kind == events_pb2.SEAT_KIND_PERSON]


async def test_a_code_lets_a_friend_in_until_the_host_withdraws_it(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo, cid = await hall.clients("Ana", "Bo", "Cid")
        host = await hall.create(ana, seats=3)
        first = host.view.invite_code
        friend = await hall.enter(await bo.join_room(invite_code=f" {first[:5].lower()}-{first[5:]} "))
        assert people(friend.view) == ["Ana", "Bo"]
        assert friend.view.invite_code == first
        await host.act(ROTATE)
        second = (await ana.get_room(host.id)).invite_code
        assert second != first
        assert (await refused(cid.join_room(invite_code=first))).reason == "ROOM_NOT_FOUND"
        third = await hall.enter(await cid.join_room(invite_code=second))
        assert people(third.view) == ["Ana", "Bo", "Cid"]


async def test_a_new_code_is_good_the_moment_that_it_is_known(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, seats=2)
        for _ in range(20):
            await host.act(ROTATE)
            code = (await ana.get_room(host.id)).invite_code
            friend = await hall.enter(await bo.join_room(invite_code=code))
            await friend.leave()


async def test_a_code_is_shown_to_nobody_without_a_seat(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, eve = await hall.clients("Ana", "Eve")
        host = await hall.create(ana, visibility=PUBLIC)
        assert host.view.invite_code
        assert (await hall.watch(eve, host)).view.invite_code == ""
        assert (await eve.get_room(host.id)).invite_code == ""


async def test_who_is_kicked_may_come_back_and_who_is_banned_may_not(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, seats=3, visibility=PUBLIC)
        await hall.join(bo, host)
        await host.act(maumau.actions.remove_seat(1))
        again = await hall.join(bo, host)
        assert people(again.view) == ["Ana", "Bo"]
        await host.act(maumau.actions.remove_seat(1, ban=True))
        assert people(await ana.get_room(host.id)) == ["Ana"]
        code = host.view.invite_code
        for call in (bo.join_room(host.id), bo.join_room(invite_code=code)):
            assert (await refused(call)).reason == "BANNED"
        assert (await refused(bo.get_room(host.id))).reason == "ROOM_NOT_FOUND", "not even as a spectator"


async def test_only_the_host_kicks_and_never_himself(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        host, guest = await hall.table("Ana", "Bo")
        assert (await refused(guest.act(maumau.actions.remove_seat(0)))).reason == "NOT_HOST"
        alone = await refused(host.act(maumau.actions.remove_seat(0)))
        assert (alone.reason, alone.metadata["field"]) == ("INVALID_FIELD", "seat")


async def test_changed_options_hold_for_the_match_and_take_back_every_ready(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        host, guest = await hall.table("Ana", "Bo")
        await guest.ready()
        options = {
            "match.target": rules_pb2.OptionValue(choice="single"),
            "start.effect": rules_pb2.OptionValue(choice="none"),  # a start Draw Two would be two cards more
        }
        change = Action.ChangeOptions(
            ruleset=rules_pb2.Ruleset(preset="uno", options=options),
            settings=settings_pb2.RoomSettings(turn_seconds=17, title="UNO now"),
        )
        await host.act(Action(change_options=change))
        view = await sees(guest, lambda view: view.ruleset.game == "uno")
        assert (view.settings.turn_seconds, view.settings.title, view.settings.pause_seconds) == (17, "UNO now", 0)
        assert not any(seat.ready for seat in view.seats)
        await guest.ready()
        await host.start()
        assert len((await sees(guest, lambda view: view.HasField("shedding"))).shedding.hand) == 7
        assert (await refused(host.act(Action(change_options=change)))).reason == "MATCH_RUNNING"


async def test_a_new_host_has_the_rights_and_not_only_the_name(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        host, second, third = await hall.table("Ana", "Bo", "Cid")
        await third.leave()
        assert (await sees(second, lambda view: len(people(view)) == 2)).host_player_id == host.view.host_player_id
        await host.leave()
        view = await sees(second, lambda view: people(view) == ["Bo"])
        assert view.host_player_id == view.seats[1].player_id
        await second.add_bot()
        await second.ready()
        await second.start()


async def test_the_list_shows_public_rooms_newest_first_in_pages(stack: Stack) -> None:
    async with lounge(stack.address) as hall, channel_to(stack.address) as channel:
        (ana,) = await hall.clients("Ana")
        made = [
            (
                await ana.create_room("uno-mattel", settings=settings_pb2.RoomSettings(visibility=PUBLIC, title=f"{n}"))
            ).id
            for n in range(5)
        ]
        private = await ana.create_room("uno-mattel")
        guest = await sign_in(channel, "Eve")

        async def listed() -> list[str]:
            request, found = matchmaking_pb2.ListRoomsRequest(preset="uno-mattel", page_size=2), list[str]()
            while True:
                page = await guest.matchmaking.ListRooms(request, metadata=guest.metadata(), timeout=LIMIT_SECONDS)
                assert len(page.rooms) <= 2
                found += [room.room_id for room in page.rooms]
                if not page.next_page_token:
                    return found
                request.page_token = page.next_page_token

        async def listed_all() -> list[str] | None:
            return found if made[-1] in (found := await listed()) else None

        found = await eventually(listed_all, "the newest room is listed")
        assert [room for room in found if room in made] == made[::-1]
        assert private.id not in found
        assert len(found) == len(set(found))


async def test_a_room_leaves_the_list_with_its_start_or_its_end(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        eve = await hall.client("Eve")
        (started,) = await hall.table("Ana", bots=1, preset="uno-casa", visibility=PUBLIC)
        (ended,) = await hall.table("Bo", bots=1, preset="uno-casa", visibility=PUBLIC)

        async def listed() -> set[str]:
            return {room.room_id async for room in eve.rooms(preset="uno-casa")} & {started.id, ended.id}

        async def both() -> bool:
            return await listed() == {started.id, ended.id}

        async def none() -> bool:
            return not await listed()

        await eventually(both, "both rooms are listed")
        await started.ready()
        await started.start()
        await ended.leave()
        await eventually(none, "neither room is listed")


async def test_a_changed_name_is_seen_by_others_and_goes_into_the_next_room(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        me = await ana.set_display_name("Ana\u0308bel")
        assert me.display_name == "An\u00e4bel"
        assert (await bo.player(me.player_id)).display_name == "An\u00e4bel"
        host = await hall.create(ana)
        assert people(host.view) == ["An\u00e4bel"]
        wrong = await refused(ana.set_display_name("a\u202eb"))
        assert (wrong.reason, wrong.metadata["field"]) == ("INVALID_FIELD", "display_name")
        assert (await bo.player(me.player_id)).display_name == "An\u00e4bel"


async def test_a_changed_name_is_the_one_in_chat_and_on_a_seat_that_is_taken_in_the_room(stack: Stack) -> None:
    """The session still has the old one, which may be a real name that an identity provider knows."""
    async with lounge(stack.address) as hall:
        ana, bo, eve = await hall.clients("Ana", "Bo", "Eve")
        host = await hall.create(ana, seats=3, visibility=PUBLIC)
        guest, seen = await hall.join(bo, host), await hall.watch(eve, host)
        await bo.set_display_name("Ana")  # while he sits there he is called as he was, also by what he says
        await eve.set_display_name("Evita")
        async with ears(host) as (ear,):
            await bo.send_chat(host.id, "hello")
            await eve.send_chat(host.id, "good luck")
            assert sorted(await ear.hears("good luck")) == [("Bo", "hello"), ("Evita", "good luck")]
        await guest.leave()
        await seen.act(maumau.actions.take_seat())
        view = await sees(host, lambda view: len(people(view)) == 2 and "Bo" not in people(view))
        assert people(view) == ["Ana", "Evita"]


async def test_the_server_says_what_it_is_to_anybody(stack: Stack) -> None:
    async with channel_to(stack.address) as channel:
        guest = await sign_in(channel, "Eve")
        info = await guest.matchmaking.GetServerInfo(matchmaking_pb2.GetServerInfoRequest(), timeout=LIMIT_SECONDS)
    assert info.version
    assert info.api_revision >= 1
    assert {"play", "watch", "chat", "invite-codes", "room-list", "quick-play", "scoring", "replays"} <= set(
        info.features
    )
    assert {"mau-mau-32", "mau-mau-brasil", "uno", "tranca"} <= set(info.presets)
    assert info.time.seconds > 1_700_000_000
    assert (info.limits.max_chat_characters, info.limits.max_display_name_characters) == (300, 24)
    assert info.limits.max_message_bytes >= 1024
    assert info.limits.max_versions_per_match == 10_000


async def test_a_finished_room_counts_as_mine_until_i_leave_it(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        (ana,) = await hall.clients("Ana")
        host = await hall.create(ana, seats=2)
        await host.add_bot()
        await host.ready()
        await host.start()
        await play([host])
        assert [(room.room_id, room.state) async for room in ana.my_rooms()] == [
            (host.id, room_pb2.ROOM_STATE_FINISHED)
        ]
        await host.leave()
        assert [room async for room in ana.my_rooms()] == []
