"""One URL and a few numbers make the connections; what is wrong with them is said by name."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from services.store import scripts
from services.store.assembly import Store
from services.store.connect import Connections, StoreSettings
from services.store.errors import BadArgument, StoreError, StoreUnavailable
from services.store.primaries import OnePrimary, primaries
from services.store.server_state import server_states
from tests.servers import Kind, Server, free_port, running
from tests.store.conftest import MakeStore
from tests.store.making import made, new_room


@pytest.mark.parametrize(
    "url",
    ["redis://127.0.0.1:{port}/0", "redis://default:secret@127.0.0.1:{port}", "unix://default:secret@{folder}/socket"],
)
async def test_each_form_of_url_leads_to_redis(kind: Kind, url: str) -> None:
    password = ("--requirepass", "secret") if "secret" in url else ()
    with running_with(kind, *password) as server:
        url = url.format(port=server.port, folder=server.folder)
        async with Store(StoreSettings(url=url)) as store:
            await made(store.rooms, new_room())


@contextlib.contextmanager
def running_with(kind: Kind, *options: str) -> Any:
    port = free_port()
    if not options:
        with running(kind, port=port) as server:
            yield server
        return
    with running(kind, port=port) as server:
        with contextlib.closing(server.client()) as client:
            client.config_set("requirepass", "secret")
        yield server


def connections_of(settings: StoreSettings) -> Connections:
    opened = primaries(settings)
    assert isinstance(opened, OnePrimary)
    return opened.connections


def test_a_tls_url_makes_tls_connections() -> None:
    connections = connections_of(StoreSettings(url="rediss://redis.example:6380/2?ssl_cert_reqs=required"))
    assert "SSL" in connections.commands.connection_class.__name__
    assert connections.commands.connection_kwargs["db"] == 2


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("url", "http://127.0.0.1"),
        ("url", "redis://:secret@127.0.0.1:6379/0?socket_timeout=60"),
        ("url", "redis://:secret@127.0.0.1:6379/0?db=first"),
        ("url", "redis://:secret@127.0.0.1:6379/0?ssl_ca_certs=ca.pem"),
        ("command_connections", 0),
        ("command_timeout_ms", 0),
        ("replicas_to_wait", -1),
        ("prefix", "a b"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name_and_shows_no_password(setting: str, value: Any) -> None:
    with pytest.raises(BadArgument) as refusal:
        Store(StoreSettings(**{setting: value}))
    assert refusal.value.field == setting
    assert "secret" not in str(refusal.value)


def test_waiting_for_replicas_must_end_before_the_command_does() -> None:
    with pytest.raises(BadArgument, match="replica_timeout_ms"):
        primaries(StoreSettings(replicas_to_wait=1, replica_timeout_ms=3_000))


def test_nothing_is_left_to_the_defaults_of_the_client_library() -> None:
    connections = connections_of(StoreSettings())
    for pool in (connections.commands, connections.blocking, connections.pubsub):
        given = pool.connection_kwargs
        assert given["retry"].get_retries() == 0
        assert given["retry_on_error"] == []
        assert given["socket_connect_timeout"] > 0
        assert given["health_check_interval"] > 0
    assert connections.commands.connection_kwargs["socket_timeout"] is None  # a batch has one time limit of its own
    assert connections.blocking.connection_kwargs["socket_timeout"] == 4
    assert connections.pubsub.connection_kwargs["socket_timeout"] == 2
    assert connections.commands.max_connections == 16


async def test_wrong_credentials_are_a_fault_of_the_set_up_and_not_an_outage(kind: Kind) -> None:
    with running_with(kind, "--requirepass", "secret") as server:
        async with Store(StoreSettings(url=f"redis://:wrong@127.0.0.1:{server.port}")) as store:
            with pytest.raises(StoreError) as refusal:
                await store.rooms.head(new_room())
            assert not isinstance(refusal.value, StoreUnavailable)
            assert "wrong" not in str(refusal.value).replace("WRONGPASS", "")


async def test_a_server_set_up_as_it_should_be_has_no_complaints(store: Store) -> None:
    state = (await server_states(store.pipelines))["primary"]
    assert state.complaints() == []
    assert state.fullness == 0.0
    assert state.role == "master"


async def test_a_server_that_would_lose_rooms_is_complained_of(own_server: Server, make_store: MakeStore) -> None:
    with contextlib.closing(own_server.client()) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("appendonly", "no")
        client.config_set("maxmemory", 1 << 30)
    state = (await server_states(make_store(own_server).pipelines))["primary"]
    assert [complaint.split()[0] for complaint in state.complaints()] == ["maxmemory-policy", "appendonly"]
    assert 0.0 < state.fullness < 1.0
    old = state._replace(version=(6, 2, 7))
    assert "6.2.7 is too old" in old.complaints()[0]


def test_every_script_names_itself_and_its_revision_first() -> None:
    for script in vars(scripts).values():
        if isinstance(script, scripts.Script):
            assert script.source.startswith(f"-- {script.name}, revision {script.revision}: ")
            assert len(script.sha) == 40
