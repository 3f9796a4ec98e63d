"""One URL says where Redis is; a bad one is refused by what is wrong with it, and shows no password."""

from __future__ import annotations

import pytest
from redis.asyncio.connection import SSLConnection

from services.runtime.settings import SettingsError, read_settings
from services.store.address import CLUSTER, SENTINEL, read_address
from services.store.cluster import Cluster
from services.store.connect import StoreSettings
from services.store.errors import BadArgument
from services.store.primaries import primaries


def test_sentinels_are_named_with_the_service_that_they_watch() -> None:
    address = read_address("redis+sentinel://ann:p%40ss@one.example,two.example:5000,[::1]:5001/rooms/3")
    assert (address.kind, address.service) == (SENTINEL, "rooms")
    assert address.hosts == (("one.example", 26379), ("two.example", 5000), ("::1", 5001))
    assert address.where == {"username": "ann", "password": "p@ss", "db": 3}
    assert address.sentinels == {}


def test_sentinels_may_want_another_password_than_redis() -> None:
    address = read_address("redis+sentinel://:redis-key@h/rooms?sentinel_username=sam&sentinel_password=s%20k")
    assert address.where == {"password": "redis-key"}
    assert address.sentinels == {"username": "sam", "password": "s k"}


def test_with_tls_sentinels_and_redis_are_spoken_to_alike() -> None:
    address = read_address("rediss+sentinel://:key@h:1/rooms?ssl_ca_certs=/ca.pem")
    for where in (address.where, address.sentinels):
        assert where["connection_class"] is SSLConnection
        assert where["ssl_ca_certs"] == "/ca.pem"
    assert "password" not in address.sentinels
    primaries(StoreSettings(url="rediss+sentinel://h:1/rooms?ssl_cert_reqs=required"))


def test_nodes_of_a_cluster_are_named_without_a_database() -> None:
    address = read_address("rediss+cluster://:key@one:7000,two/0?ssl_ca_certs=/ca.pem")
    assert (address.kind, address.hosts) == (CLUSTER, (("one", 7000), ("two", 6379)))
    assert address.where["password"] == "key"
    assert isinstance(primaries(StoreSettings(url="redis+cluster://one:7000")), Cluster)


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("redis+sentinel://:secret@h:1", "lacks the name of the service"),
        ("redis+sentinel://:secret@h:1/rooms/first", "'first' is no database number"),
        ("redis+sentinel://:secret@h:1,/rooms", "'' is no host:port"),
        ("redis+sentinel://:secret@h:0/rooms", "'h:0' is no host:port"),
        ("redis+sentinel://h:x/rooms?sentinel_password=an@secret", "'h:x' is no host:port"),
        ("redis+cluster://:secret@h:x", "'h:x' is no host:port"),
        ("redis+cluster://:secret@h:1/1", "database 0 only"),
        ("redis+cluster://:secret@h:1?socket_timeout=9", "may not set socket_timeout"),
        ("redis+cluster://h:1?sentinel_password=secret", "may not set sentinel_password"),
        ("redis+cluster://:secret@h:1?ssl_ca_certs=/ca.pem", "may not set ssl_ca_certs"),
        ("unix+cluster://:secret@h:1", "unix\\+cluster is no scheme"),
        ("redis+ring://:secret@h:1", "redis\\+ring is no scheme"),
        ("sentinel://:secret@h:1/rooms", "one of the following schemes"),
    ],
)
def test_a_bad_url_is_refused_by_what_is_wrong(url: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadArgument, match=wrong) as refusal:
        read_address(url)
    assert "secret" not in str(refusal.value)
    monkeypatch.setenv("MAUMAU_REDIS_URL", url)
    with pytest.raises(SettingsError, match=wrong) as told:
        read_settings()
    assert str(told.value).startswith("MAUMAU_REDIS_URL: ")
    assert "secret" not in str(told.value)
