"""An action takes effect once, whatever is lost on the way, and a refusal says why (promises P5, P14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import maumau
import pytest
from maumau import Client, Room, actions
from maumau.v1 import actions_pb2, settings_pb2

from tests.clients.eventually import eventually
from tests.clients.fake_server import FakeServer, status_of


@pytest.fixture(params=["play", "unary"])
async def room(request: pytest.FixtureRequest, client: Client) -> AsyncIterator[Room]:
    made = await client.create_room("mau-mau-32", seats=2)
    async with client.room(made.id, mode=request.param) as room:
        yield room


async def test_an_accepted_action_answers_its_version_and_the_view_has_it(fake: FakeServer, room: Room) -> None:
    assert await room.act(actions.set_ready(True)) == 2
    assert room.version == 2
    assert room.view.seats[0].ready


async def test_an_action_carries_the_version_on_which_it_was_decided(fake: FakeServer, room: Room) -> None:
    await room.act(actions.set_ready(True))
    await room.act(actions.set_ready(False))
    await room.act(actions.set_ready(True), version=1)
    assert [act.version for act in fake.acts] == [1, 2, 1]


async def test_an_action_whose_answer_was_lost_takes_effect_once(fake: FakeServer, room: Room) -> None:
    fake.lose_answers = 2
    assert await room.act(actions.set_ready(True)) == 2
    assert fake.room().version == 2
    assert len({act.request_id for act in fake.acts}) == 1
    assert len(fake.acts) >= 3


MANY = 20
"""More than the eight whose ids a room knows again."""


async def all_at_once(room: Room) -> list[asyncio.Task[int]]:
    acts = [asyncio.create_task(room.act(actions.set_ready(number % 2 == 0))) for number in range(MANY)]
    await asyncio.sleep(0)
    return acts


def took_effect(fake: FakeServer) -> list[bool]:
    return [event.ready_changed.ready for version in fake.room().log[1:] for event in version]


async def test_many_actions_at_once_that_lose_their_answers_together_take_effect_once(
    fake: FakeServer, client: Client
) -> None:
    made = await client.create_room("mau-mau-32", seats=2)
    async with client.room(made.id) as room:
        fake.keep_answers = True
        acts = await all_at_once(room)
        for _ in range(3):
            before = len(fake.acts)
            await eventually(lambda: len(fake.acts) >= before + 8)  # noqa: B023 - awaited
            await client.server_info()  # what was sent after them has come, too
            fake.cut_streams()
            await eventually(lambda: not room.online)
        fake.keep_answers = False
        fake.cut_streams()
        assert sorted(await asyncio.gather(*acts)) == list(range(2, 2 + MANY))
    assert took_effect(fake) == [number % 2 == 0 for number in range(MANY)]


async def test_many_calls_at_once_that_lose_their_answers_take_effect_once(fake: FakeServer, client: Client) -> None:
    made = await client.create_room("mau-mau-32", seats=2)
    async with client.room(made.id, mode="unary") as room:
        fake.lose_answers = MANY
        assert sorted(await asyncio.gather(*await all_at_once(room))) == list(range(2, 2 + MANY))
    assert len(took_effect(fake)) == MANY


async def test_an_action_that_nobody_waits_for_any_more_holds_no_others_up(fake: FakeServer, client: Client) -> None:
    made = await client.create_room("mau-mau-32", seats=2)
    async with client.room(made.id) as room:
        fake.keep_answers = True
        acts = await all_at_once(room)
        await eventually(lambda: len(fake.acts) >= 8)
        fake.keep_answers = False
        for act in acts[:8]:
            act.cancel()
        assert len(await asyncio.gather(*acts[8:])) == MANY - 8


async def test_each_action_has_a_request_id_of_16_bytes_of_its_own(fake: FakeServer, room: Room) -> None:
    for ready in (True, False, True):
        await room.act(actions.set_ready(ready))
    assert len({act.request_id for act in fake.acts}) == 3
    assert {len(act.request_id) for act in fake.acts} == {16}


async def test_an_action_waits_for_a_server_that_is_restarted(fake: FakeServer, room: Room) -> None:
    await fake.stop()
    await eventually(lambda: not room.online)
    act = asyncio.create_task(room.act(actions.set_ready(True)))
    await asyncio.sleep(0)
    await fake.start()
    assert await act == 2


@pytest.mark.parametrize("reason", ["STORE_UNAVAILABLE", "OUTCOME_UNKNOWN", "STOPPING", "SERVICE_UNAVAILABLE"])
async def test_a_passing_trouble_of_the_server_is_waited_out(fake: FakeServer, room: Room, reason: str) -> None:
    fake.refuse_acts.append(status_of(reason, retry_after=0.01))
    assert await room.act(actions.set_ready(True)) == 2
    assert len({act.request_id for act in fake.acts}) == 1


async def test_a_refusal_carries_reason_code_metadata_and_sentence(fake: FakeServer, room: Room) -> None:
    with pytest.raises(maumau.Refused) as refused:
        await room.act(actions.start())
    assert refused.value.reason == "NOT_READY"
    assert refused.value.code == "FAILED_PRECONDITION"
    assert refused.value.metadata == {"seats": "0"}
    assert "NOT_READY" in str(refused.value)
    assert room.version == 1


async def test_a_stale_action_is_told_by_its_type(fake: FakeServer, room: Room) -> None:
    fake.refuse_acts.append(status_of("STALE", version="1", began="5", subject="turn"))
    with pytest.raises(maumau.Stale) as stale:
        await room.act(actions.set_ready(True))
    assert stale.value.metadata["began"] == "5"


async def test_a_limit_says_when_to_come_back(fake: FakeServer, room: Room) -> None:
    fake.refuse_acts.append(status_of("RATE_LIMITED", retry_after=2.5, limit="10/s"))
    with pytest.raises(maumau.RateLimited) as limited:
        await room.act(actions.set_ready(True))
    assert limited.value.retry_after == 2.5


async def test_an_action_without_an_answer_ends_as_unknown(fake: FakeServer, room: Room) -> None:
    await fake.stop()
    with pytest.raises(maumau.Unavailable) as unavailable:
        await room.act(actions.set_ready(True), timeout=0.2)
    assert unavailable.value.outcome_unknown


async def test_an_action_of_a_history_that_is_gone_is_not_sent_into_the_new_one(
    fake: FakeServer, client: Client
) -> None:
    async with await client.create_room("mau-mau-32", seats=2) as room:
        await room.act(actions.set_ready(True))
        await fake.stop()
        await eventually(lambda: not room.online)
        act = asyncio.create_task(room.act(actions.set_ready(False)))
        await asyncio.sleep(0)
        fake.roll_back(fake.room(), 1)
        await fake.start()
        with pytest.raises(maumau.HistoryChanged) as changed:
            await act
        assert changed.value.view.version == 1
        assert len(fake.acts) == 1


async def test_an_unanswered_unary_action_ends_when_history_changed(fake: FakeServer, client: Client) -> None:
    made = await client.create_room("mau-mau-32", seats=2)
    async with client.room(made.id, mode="unary") as room:
        await room.act(actions.set_ready(True))
        fake.refuse_acts += [status_of("STORE_UNAVAILABLE", 0.01)] * 1000
        act = asyncio.create_task(room.act(actions.set_ready(False)))
        await eventually(lambda: len(fake.acts) >= 3)
        fake.roll_back(fake.room(), 1)
        fake.cut_streams()
        with pytest.raises(maumau.HistoryChanged):
            await act
        seen = len(fake.acts)
        fake.refuse_acts.clear()
        await client.player()
        assert fake.room().version == 1
        assert len(fake.acts) <= seen + 1  # one may have been on its way


async def test_a_caller_who_gives_up_does_not_cut_the_stream(fake: FakeServer, client: Client) -> None:
    async with await client.create_room("mau-mau-32", seats=2) as room:
        act = asyncio.create_task(room.act(actions.set_ready(True)))
        await asyncio.sleep(0)
        act.cancel()
        await asyncio.gather(act, return_exceptions=True)
        await room.act(actions.add_bot(settings_pb2.BOT_LEVEL_RANDOM))
        assert len(fake.opened) == 1


async def test_a_legal_action_can_be_sent_as_it_is(fake: FakeServer, room: Room) -> None:
    await room.add_bot()
    await room.ready()
    await room.start()
    legal = room.legal
    assert [actions.name_of(action) for action in legal] == ["play"] * 3
    await room.act(legal[0])
    assert room.legal == []
    assert len(room.view.shedding.hand) == 2


async def test_closing_a_room_ends_its_stream_in_order(fake: FakeServer, client: Client) -> None:
    room = await client.create_room("mau-mau-32", seats=2)
    async with room:
        assert len(fake.streams) == 1
    await eventually(lambda: not fake.streams)
    with pytest.raises(maumau.Closed):
        await room.act(actions_pb2.Action(draw=actions_pb2.Action.Draw()))


async def test_a_closed_client_leaves_no_task_behind(fake: FakeServer) -> None:
    before = asyncio.all_tasks()
    async with maumau.connect(fake.address) as client:
        async with await client.create_room("mau-mau-32", seats=2) as room:
            await room.ready()
        await (await client.create_room("mau-mau-32", seats=2)).open()
    own = {task for task in asyncio.all_tasks() - before if "maumau" in repr(task.get_coro())}
    assert own == set()
