"""A session is made, remembered and refreshed without the caller."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import maumau
import pytest
from maumau import Client, actions
from maumau.session import GuestSession
from maumau.session_file import SessionFile, StoredSession, default_path
from maumau.v1 import authority_pb2, room_pb2

from tests.clients.eventually import eventually
from tests.clients.fake_server import FakeServer, status_of


async def test_a_guest_has_the_name_it_asked_for(client: Client) -> None:
    assert (await client.player()).display_name == "Ana"


async def test_an_expired_token_is_refreshed_and_the_call_made_again(fake: FakeServer, client: Client) -> None:
    fake.expired = set(fake.players)
    assert (await client.player()).display_name == "Ana"
    assert fake.refreshes == 1


async def test_a_token_is_refreshed_before_it_expires(fake: FakeServer) -> None:
    fake.token_seconds = 50.0  # less than the minute that a token must be good for
    async with maumau.connect(fake.address) as client:
        tokens = client._tokens
        assert isinstance(tokens, GuestSession)
        tokens._fresh_until = 0.0
        fake.token_seconds = 3600.0
        await client.player()
        await client.player()
    assert fake.refreshes == 1


async def test_a_stream_that_is_to_be_renewed_gets_a_fresh_token(fake: FakeServer, client: Client) -> None:
    async with await client.create_room("mau-mau-32", seats=2):
        fake.send(authority_pb2.PlayResponse(renew=room_pb2.Renew()))
        await eventually(lambda: fake.opened[0].renewals)
        assert fake.opened[0].renewals == [list(fake.players)[-1]]
        assert len(fake.opened) == 1


async def test_a_stream_whose_session_ended_goes_on_with_another(fake: FakeServer, client: Client) -> None:
    async with await client.create_room("mau-mau-32", seats=2) as room:
        fake.expired = set(fake.players)
        fake.cut_streams("TOKEN_EXPIRED")
        assert await room.act(actions.set_ready(True)) == 2
        assert fake.refreshes == 1


async def test_a_stream_goes_on_when_refreshes_were_limited_for_a_moment(fake: FakeServer, client: Client) -> None:
    async with await client.create_room("mau-mau-32", seats=2) as room:
        fake.expired = set(fake.players)
        fake.refuse_refreshes.append(status_of("RATE_LIMITED", 0.01))
        fake.cut_streams("TOKEN_EXPIRED")
        assert await room.act(actions.set_ready(True)) == 2
        assert fake.refreshes == 1


async def test_a_token_that_is_good_is_used_while_refreshes_are_limited(fake: FakeServer) -> None:
    fake.token_seconds = 50.0
    async with maumau.connect(fake.address) as client:
        tokens = client._tokens
        assert isinstance(tokens, GuestSession)
        tokens._fresh_until = 0.0
        fake.refuse_refreshes.append(status_of("RATE_LIMITED", 0.01))
        await client.player()
    assert (fake.refreshes, fake.refuse_refreshes) == (0, [])


async def test_a_given_token_that_expired_is_reported(fake: FakeServer) -> None:
    session, _ = fake.sign_in("Bea")
    fake.expired = {session.token}
    async with maumau.connect(fake.address, token=session.token) as client:
        with pytest.raises(maumau.SignInNeeded) as needed:
            await client.player()
    assert needed.value.reason == "TOKEN_EXPIRED"


async def test_a_token_source_is_asked_again_when_a_token_expired(fake: FakeServer) -> None:
    old, _ = fake.sign_in("Bea")
    new = fake.new_session(old.player_id)
    fake.expired = {old.token}
    tokens = iter([old.token, new.token])

    async def source() -> str:
        return next(tokens)

    async with maumau.connect(fake.address, token=source) as client:
        assert (await client.player()).display_name == "Bea"


async def test_a_remembered_guest_comes_back(fake: FakeServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    for _ in range(2):
        async with maumau.connect(fake.address, name="Ana", remember=file) as client:
            assert (await client.player()).player_id == "player-1"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_remembered_guest_whose_token_expired_comes_back(fake: FakeServer, tmp_path: Path) -> None:
    fake.token_seconds = -1.0
    for _ in range(2):
        async with maumau.connect(fake.address, name="Ana", remember=tmp_path / "sessions.json") as client:
            assert (await client.player()).player_id == "player-1"
    assert fake.refreshes == 1


async def test_a_guest_whom_the_server_forgot_becomes_a_new_one(fake: FakeServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    SessionFile(file, fake.address).write(StoredSession("old", "gone", 0.0, "gone"))
    async with maumau.connect(fake.address, remember=file) as client:
        assert (await client.player()).player_id == "player-1"


async def test_a_guest_whom_the_server_forgot_before_the_token_ran_out_becomes_a_new_one(
    fake: FakeServer, tmp_path: Path
) -> None:
    """The folder of a server was emptied, say, and its keys are others."""
    file = tmp_path / "sessions.json"
    SessionFile(file, fake.address).write(StoredSession("old", "gone", time.time() + 900, "gone"))
    async with maumau.connect(fake.address, remember=file) as client:
        assert (await client.player()).player_id == "player-1"
    remembered = SessionFile(file, fake.address).read()
    assert remembered is not None
    assert remembered.player_id == "player-1"


@pytest.mark.parametrize("reason", ["RATE_LIMITED", "PLAYER_BANNED", "INTERNAL"])
async def test_a_guest_who_may_not_come_back_now_stays_the_same_one(
    fake: FakeServer, tmp_path: Path, reason: str
) -> None:
    """Many people behind one address, say: whoever was somebody else by that would have lost ratings and seats."""
    fake.token_seconds = -1.0
    file = tmp_path / "sessions.json"
    async with maumau.connect(fake.address, name="Ana", remember=file):
        pass
    fake.refuse_refreshes.append(status_of(reason))
    with pytest.raises(maumau.Refused) as refused:
        await maumau.connect(fake.address, name="Ana", remember=file).open()
    assert refused.value.reason == reason
    async with maumau.connect(fake.address, name="Ana", remember=file) as client:
        assert (await client.player()).player_id == "player-1"


async def test_a_session_goes_on_when_its_file_cannot_be_written_any_more(
    fake: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full throws nobody out of a match; the old refresh token is used up by then."""
    async with maumau.connect(fake.address, name="Ana", remember=tmp_path / "sessions.json") as client:

        def write(self: SessionFile, session: StoredSession) -> None:
            raise OSError("no space left on device")

        monkeypatch.setattr(SessionFile, "write", write)
        fake.expired = set(fake.players)
        for _ in range(2):
            assert (await client.player()).player_id == "player-1"
    assert fake.refreshes == 1


async def test_a_refresh_token_used_by_another_process_is_read_from_the_file(fake: FakeServer, tmp_path: Path) -> None:
    file = SessionFile(tmp_path / "sessions.json", fake.address)
    async with maumau.connect(fake.address, remember=tmp_path / "sessions.json") as client:
        used = next(iter(fake.players))
        other = fake.new_session(fake.players[used])
        file.write(StoredSession(other.player_id, other.token, other.expires.seconds, other.refresh_token))
        fake.expired = {used}
        del fake.players[used]  # so that its refresh token is refused
        assert (await client.player()).player_id == "player-1"


def test_sessions_of_two_servers_stand_side_by_side(tmp_path: Path) -> None:
    one, two = (SessionFile(tmp_path / "sessions.json", address) for address in ("a:1", "b:2"))
    one.write(StoredSession("p1", "t1", 1.0, "r1"))
    two.write(StoredSession("p2", "t2", 2.0, "r2"))
    assert one.read() == StoredSession("p1", "t1", 1.0, "r1")
    one.remove()
    assert one.read() is None
    assert two.read() == StoredSession("p2", "t2", 2.0, "r2")


@pytest.mark.parametrize("content", ["", "no json", "[]", json.dumps({"a:1": {"token": "alone"}})])
def test_a_broken_session_file_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "sessions.json").write_text(content, encoding="utf-8")
    assert SessionFile(tmp_path / "sessions.json", "a:1").read() is None


def test_the_session_file_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_path() == Path("/state/maumau/sessions.json")
    monkeypatch.setenv("MAUMAU_TOKEN_FILE", "/else/where.json")
    assert default_path() == Path("/else/where.json")


def test_a_session_shows_no_token() -> None:
    assert "secret" not in repr(StoredSession("p1", "secret", 1.0, "secret too"))


async def test_a_sign_in_that_is_limited_says_when_to_come_back(fake: FakeServer) -> None:
    fake.refuse_sign_ins.append(status_of("RATE_LIMITED", retry_after=1.0))
    with pytest.raises(maumau.RateLimited):
        await maumau.connect(fake.address).open()


async def test_a_sign_in_is_tried_again_while_the_server_says_that_nothing_came_of_it(fake: FakeServer) -> None:
    fake.refuse_sign_ins = [status_of("STORE_UNAVAILABLE", 0.01), status_of("STOPPING", 0.01)]
    async with maumau.connect(fake.address, name="Ana") as client:
        assert (await client.player()).display_name == "Ana"
    assert len(fake.players) == 1


async def test_a_sign_in_that_may_have_been_accepted_is_not_sent_again(fake: FakeServer) -> None:
    fake.refuse_sign_ins = [status_of("OUTCOME_UNKNOWN", 0.01)] * 2
    with pytest.raises(maumau.Unavailable) as unavailable:
        await maumau.connect(fake.address, name="Ana").open()
    assert unavailable.value.outcome_unknown
    assert len(fake.refuse_sign_ins) == 1
