"""Around a match: rematches, spectators, chat, and what scoring knows afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import maumau
from maumau.v1 import actions_pb2, events_pb2, room_pb2, scoring_pb2, settings_pb2

from services.local.stack import Stack
from services.rules.room.journal import decode_entry
from services.store.assembly import Store
from tests.e2e.ears import ears
from tests.e2e.eventually import eventually
from tests.e2e.lounge import (
    ONE_ROUND,
    counted,
    is_playing,
    lounge,
    play,
    refused,
    sees,
    start,
    take_a_turn_each,
    together,
)
from tests.faults.checker import read_log

Action = actions_pb2.Action
PUBLIC = settings_pb2.VISIBILITY_PUBLIC
REMATCH = maumau.actions.rematch()


def mute(seat: int, muted: bool) -> Action:
    return Action(mute=Action.Mute(seat=seat, muted=muted))


async def test_a_rematch_has_the_next_dealer_a_new_seed_and_the_same_people(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo", "Cid")
        dealers, seeds, matches = [], [], []
        for number in (1, 2, 3):
            view = await play(sides)
            assert view.match_number == number
            dealers.append(view.proof.dealer)
            seeds.append(view.seed)
            matches.append(view.match_id)
            if number < 3:
                await sides[number].act(REMATCH)  # anybody may ask
                await start(sides)
        assert dealers == [(dealers[0] + turn) % 3 for turn in range(3)]
        assert len(set(seeds)) == len(set(matches)) == 3
        assert [seat.display_name for seat in view.seats] == ["Ana", "Bo", "Cid"]


async def test_a_rematch_before_the_end_is_refused_and_a_second_one_is_late(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo")
        assert (await refused(sides[0].act(REMATCH))).reason == "MATCH_NOT_FINISHED"
        await play(sides)
        await sides[0].act(REMATCH)
        assert (await refused(sides[1].act(REMATCH))).reason == "MATCH_NOT_FINISHED"


async def test_spectators_of_a_public_room_see_public_cards_and_nothing_more(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo", visibility=PUBLIC)
        watching = await hall.watch(await hall.client("Eve"), sides[0])
        assert watching.own_seat is None
        assert (list(watching.view.shedding.hand), watching.legal, watching.view.invite_code) == ([], [], "")
        seen = asyncio.create_task(_events_until_the_end(watching))
        await play(sides)
        events = await seen
        assert (await watching_view(watching)).outcome == sides[0].view.outcome
    drawn = [event.cards_drawn for event in events if event.WhichOneof("event") == "cards_drawn"]
    played = [event.cards_played for event in events if event.WhichOneof("event") == "cards_played"]
    assert played
    assert all(event.cards for event in played)
    assert [event for event in drawn if event.cards] == []


async def watching_view(side: maumau.Room) -> room_pb2.RoomView:
    return await sees(side, lambda view: view.HasField("outcome"))


async def _events_until_the_end(side: maumau.Room) -> list[events_pb2.Event]:
    events = list[events_pb2.Event]()
    async for event in side.events():
        if isinstance(event, maumau.RoomUpdate):
            events += event.update.events
        if not isinstance(event, maumau.RoomChat) and event.view.HasField("outcome"):
            break
    return events


async def test_a_private_room_or_one_without_spectators_is_not_there_for_strangers(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        eve = await hall.client("Eve")
        hidden = await hall.match("Ana", bots=1)
        closed = await hall.match("Bo", bots=1, visibility=PUBLIC, spectators=settings_pb2.SPECTATORS_OFF)
        for room in (hidden[0].id, closed[0].id, "r_that_never_was"):
            assert (await refused(eve.get_room(room))).reason == "ROOM_NOT_FOUND"
            assert (await refused(eve.room(room, mode="watch").open())).reason == "ROOM_NOT_FOUND"
            assert (await refused(eve.send_chat(room, "hello"))).reason == "ROOM_NOT_FOUND"


async def test_chat_reaches_everybody_but_spectators_are_not_heard_at_the_table_during_a_match(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo, eve, fay = await hall.clients("Ana", "Bo", "Eve", "Fay")
        host = await hall.create(ana, seats=2, visibility=PUBLIC)
        sides = [host, await hall.join(bo, host)]
        crowd = [await hall.watch(eve, host), await hall.watch(fay, host)]
        async with ears(*sides, *crowd) as (at_ana, at_bo, _, at_fay):
            await eve.send_chat(host.id, "good luck")
            assert await at_bo.hears("good luck") == [("Eve", "good luck")]
            await start(sides)
            await eve.send_chat(host.id, "Bo has the jack")
            await at_fay.hears("Bo has the jack")
            await ana.send_chat(host.id, "hm")
            assert await at_bo.hears("hm") == [("Eve", "good luck"), ("Ana", "hm")]
            await play(sides)
            await eve.send_chat(host.id, "well played")
            expected = [("Eve", "good luck"), ("Ana", "hm"), ("Eve", "well played")]
            assert await at_bo.hears("well played") == expected
            assert await at_ana.hears("well played") == expected
            assert ("Eve", "Bo has the jack") in at_fay.heard


async def test_a_muted_person_is_not_heard_until_the_host_says_otherwise(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, seats=2)
        guest = await hall.join(bo, host)
        assert (await refused(guest.act(mute(0, True)))).reason == "NOT_HOST"
        await host.act(mute(1, True))
        assert (await sees(guest, lambda view: view.seats[1].muted)).seats[1].muted
        assert (await refused(bo.send_chat(host.id, "psst"))).reason == "MUTED"
        await host.act(mute(1, False))
        async with ears(host) as (at_ana,):
            await bo.send_chat(host.id, "back again")
            assert await at_ana.hears("back again") == [("Bo", "back again")]


async def test_a_room_without_chat_delivers_none(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        ana = await hall.client("Ana")
        host = await hall.create(ana, chat=False)
        assert (await refused(ana.send_chat(host.id, "hello"))).reason == "CHAT_OFF"


async def test_under_the_silence_rule_a_text_is_the_action_of_speaking_and_is_not_delivered(stack: Stack) -> None:
    options = {"rule7": "silence", "match.target": 100_000}
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, "uno", options=options, seats=2)
        guest = await hall.join(bo, host)
        await start([host, guest])
        await _play_until_silence([host, guest])
        async with ears(guest) as (at_bo,):
            before = (await ana.get_room(host.id)).shedding.hand_sizes[0]
            await ana.send_chat(host.id, "oops")
            after = await ana.get_room(host.id)
            assert after.shedding.hand_sizes[0] == before + 2
            await sees(guest, lambda view: view.version >= after.version)
            assert at_bo.heard == []


async def _play_until_silence(sides: list[maumau.Room]) -> None:
    """Plays sevens first, until one has forbidden to talk and nobody has to act at once."""
    while not sides[0].view.shedding.silence:
        for side in sides:
            if side.view.state == room_pb2.ROOM_STATE_PAUSE:
                await side.act(maumau.actions.ready_for_round())
            elif side.legal:
                await side.act(min(side.legal, key=_not_a_seven))
            await together(sides)


def _not_a_seven(action: Action) -> int:
    kind = action.WhichOneof("action")
    if kind == "play" and action.play.card.rank == 27:
        return 0
    return 1 if kind == "draw" else 2  # larger hands hold more sevens


async def test_history_statistics_and_board_tell_of_a_match_once(stack: Stack, store: Store) -> None:
    async with lounge(stack.address) as hall:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, seats=2)
        sides = [host, await hall.join(bo, host)]
        await start(sides)
        view = await play(sides)
        record = await counted(ana, view.match_id)
        assert [seat.display_name for seat in record.seats] == ["Ana", "Bo"]
        assert list(record.scores) == list(view.outcome.scores)
        assert (record.room_id, record.seed, record.cause) == (host.id, view.seed, view.outcome.cause)
        log = await read_log(store.rooms, host.id)
        assert record.last_version == log[-1].version
        assert record.ended.ToMilliseconds() == log[-1].time
        assert decode_entry(log[record.first_version - 1].payload).events
        assert [match.match_id async for match in bo.scoring.matches()] == [view.match_id]
        me = await ana.player()
        assert [match.match_id async for match in bo.scoring.matches(me.player_id)] == [view.match_id]
        sums = [await client.scoring.statistics(family="mau-mau-32") for client in (ana, bo)]
        assert [one.matches for one in sums] == [1, 1]
        assert [one.wins for one in sums] == [int(number in view.outcome.winners) for number in (0, 1)]


async def test_a_players_rank_and_neighbours_are_those_of_the_board(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo", "Cid", preset="mau-mau-32", options=ONE_ROUND)
        client = await hall.client("Eve")
        view = await play(sides)
        players = [seat.player_id for seat in view.seats]

        async def ranks() -> list[scoring_pb2.GetRankResponse]:
            return [await client.scoring.rank("mau-mau-32", player) for player in players]

        async def ranks_and_board() -> tuple[Any, Any] | None:
            """Of one moment: the results of other matches may come in meanwhile."""
            try:
                before, board = await ranks(), await client.scoring.leaderboard("mau-mau-32", lines=100)
                return (before, board) if before == await ranks() else None
            except maumau.Refused:  # scoring has not heard of the match yet
                return None

        found, board = await eventually(ranks_and_board, "all three are on the board")
        for player, rank in zip(players, found, strict=True):
            place = [line.player_id for line in board].index(player)
            assert board[place] == rank.entry
            assert list(rank.above) == board[max(0, place - 3) : place]
            assert list(rank.below) == board[place + 1 : place + 4]
            assert rank.entry.rank == 1 + sum(line.score > rank.entry.score for line in board)


async def test_leaving_a_match_of_two_gives_it_to_the_other_and_scoring_knows_who_left(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo")
        ana, bo = sides
        await take_a_turn_each(sides)
        await bo.leave()
        view = await sees(ana, lambda view: view.HasField("outcome"))
        assert (view.outcome.cause, list(view.outcome.winners)) == (events_pb2.MATCH_END_CAUSE_DESERTED, [0])
        found = await counted(await hall.client("Eve"), view.match_id)
        assert [(seat.deserted, seat.winner, seat.place) for seat in found.seats] == [
            (False, True, 1),
            (True, False, 2),
        ]


async def test_a_bot_plays_on_for_who_leaves_a_match_of_three(stack: Stack) -> None:
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo", "Cid")
        await sides[2].leave()
        view = await sees(sides[0], lambda view: view.seats[2].deserted)
        assert is_playing(view)
        view = await play(sides[:2])
        assert view.outcome.cause == events_pb2.MATCH_END_CAUSE_SINGLE_ROUND
