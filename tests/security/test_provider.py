"""Tokens of the operator's identity provider: its keys, issuer and audience decide; rotation; both kinds at once."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from maumau.v1 import identity_pb2 as pb
from maumau.v1.identity_pb2_grpc import IdentityServiceStub

from services.runtime import provider as module
from services.runtime import revocations as revocations_module
from services.runtime.provider import ProviderTokens
from services.runtime.revocations import Revocations
from services.runtime.settings import Settings, SettingsError, read_settings
from services.runtime.tokens import SESSION_TYPE, BadToken, ExpiredToken, TokenVerifier, UnknownKey
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.services.rig import Rig, refused, sign_in

ISSUER, AUDIENCE = "https://id.example", "cards"
EDDSA, RSA = Ed25519PrivateKey.generate(), rsa.generate_private_key(65_537, 2_048)
ECDSA = ec.generate_private_key(ec.SECP256R1())
KEYS: dict[str, tuple[str, Any, Any]] = {
    "ed": ("EdDSA", EDDSA, jwt.algorithms.OKPAlgorithm),
    "rsa": ("RS256", RSA, jwt.algorithms.RSAAlgorithm),
    "ec": ("ES256", ECDSA, jwt.algorithms.ECAlgorithm),
}


class Published:
    """What the provider publishes now, and how often it was asked."""

    def __init__(self, *kids: str) -> None:
        self.asked = 0
        self.extra: list[dict[str, Any]] = []
        self.down = False
        self.kids = list(kids)

    def fetch(self, url: str) -> bytes:
        self.asked += 1
        if self.down:
            raise OSError("the provider is away")
        return self.content

    @property
    def content(self) -> bytes:
        return json.dumps({"keys": [*map(_jwk, self.kids), *self.extra]}).encode()


def _jwk(kid: str) -> dict[str, Any]:
    alg, key, algorithm = KEYS[kid]
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "alg": alg, "use": "sig"}


def token(kid: str = "ed", header: dict[str, Any] | None = None, key: Any = None, alg: str = "", **claims: Any) -> str:
    now = int(time.time())
    body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "name": "Ana", "iat": now, "exp": now + 600, **claims}
    body = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(body, key or KEYS[kid][1], alg or KEYS[kid][0], {"kid": kid, **(header or {})})


@pytest.fixture
def published() -> Published:
    return Published("ed", "rsa", "ec")


@pytest.fixture
def verifier(published: Published, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> TokenVerifier:
    monkeypatch.setattr(module, "LEARN_SECONDS", 0.0)
    settings = _settings(rig.settings)
    return TokenVerifier(settings, provider=ProviderTokens(settings, published.fetch))


def _settings(settings: Settings, **changed: Any) -> Settings:
    wanted = {"jwks_url": "https://id.example/keys", "jwks_issuer": ISSUER, "jwks_audience": AUDIENCE, **changed}
    return settings.model_copy(update=wanted)


@pytest.mark.parametrize("kid", KEYS)
async def test_a_token_of_the_provider_is_a_session_of_a_player_of_its_own(verifier: TokenVerifier, kid: str) -> None:
    session = await verifier.verify_late(token(kid, sid="s"))
    assert (session.player_id, session.display_name, session.session_id) == ("u_ana", "Ana", "s")


BAD: dict[str, Any] = {
    "another issuer": {"iss": "https://elsewhere.example"},
    "another audience": {"aud": "other"},
    "no audience": {"aud": None},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject of several lines": {"sub": "ana\nbo"},
    "a subject that is too long": {"sub": "x" * 200},
    "no end": {"exp": None},
    "an end that is a text": {"exp": "never"},
    "issued tomorrow": {"iat": int(time.time()) + 86_400},
    "not before tomorrow": {"nbf": int(time.time()) + 86_400},
    "a stranger's key": {"key": Ed25519PrivateKey.generate()},
    "an unknown kid": {"header": {"kid": "other"}},
    "the kid of another algorithm": {"header": {"kid": "rsa"}},
    "our own kind of token": {"header": {"typ": SESSION_TYPE}},
    "another kind of token": {"header": {"typ": "logout+jwt"}},
}


@pytest.mark.parametrize("changed", BAD.values(), ids=BAD)
async def test_anything_else_is_not_taken(verifier: TokenVerifier, changed: dict[str, Any]) -> None:
    assert await verifier.verify_late(token())
    with pytest.raises(BadToken):
        await verifier.verify_late(token(**changed))


async def test_a_shared_secret_among_the_keys_is_no_key(verifier: TokenVerifier, published: Published) -> None:
    secret = b"s" * 32
    text = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    published.extra.append({"kty": "oct", "kid": "oct", "alg": "HS256", "k": text})
    with pytest.raises(BadToken):
        await verifier.verify_late(token(header={"kid": "oct"}, key=secret, alg="HS256"))


async def test_a_token_that_is_over_is_expired_also_when_it_was_known(verifier: TokenVerifier) -> None:
    over = token(iat=int(time.time()) - 1_000, exp=int(time.time()) - 500)
    for _ in range(2):
        with pytest.raises(ExpiredToken):
            await verifier.verify_late(over)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "\u202eevil"}, "Player"),
        ({"name": "x" * 80}, "x" * 24),
        ({"name": None}, "Player"),
        ({"name": 7, "preferred_username": "Bo"}, "Bo"),
    ],
)
async def test_a_name_is_shown_only_if_it_can_be(verifier: TokenVerifier, claims: dict[str, Any], name: str) -> None:
    assert (await verifier.verify_late(token(**claims))).display_name == name


async def test_keys_rotate_and_a_withdrawn_one_is_no_longer_taken(
    verifier: TokenVerifier, published: Published
) -> None:
    published.kids = ["ed"]
    old = token("ed")
    await verifier.verify_late(old)
    published.kids = ["ed", "rsa"]
    assert await verifier.verify_late(token("rsa")), "an unknown kid makes us look"
    published.kids = ["rsa"]
    with pytest.raises(BadToken):
        await verifier.verify_late(token("ec"))
    with pytest.raises(BadToken):
        await verifier.verify_late(old)
    published.down = True
    assert await verifier.verify_late(token("rsa")), "a provider that is away changes nothing"


async def test_unknown_kids_do_not_make_us_ask_without_end(rig: Rig, published: Published) -> None:
    settings = _settings(rig.settings)
    verifier = TokenVerifier(settings, provider=ProviderTokens(settings, published.fetch))
    for number in range(50):
        with pytest.raises(BadToken):
            await verifier.verify_late(token(header={"kid": f"made-up-{number}"}))
    assert published.asked == 1


async def test_a_provider_that_does_not_answer_is_asked_once_for_all_who_wait(
    rig: Rig, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or anybody could make the next token with a new key wait for as long as they like."""
    monkeypatch.setattr(module, "LEARN_SECONDS", 0.0)
    answered = threading.Event()

    def hang(url: str) -> bytes:
        answered.wait(20)
        return published.fetch(url)

    published.down = True

    settings = _settings(rig.settings)
    verifier = TokenVerifier(settings, provider=ProviderTokens(settings, hang))
    waiting = [asyncio.create_task(verifier.verify_late(token(header={"kid": f"made-up-{n}"}))) for n in range(20)]
    given_up = waiting.pop()
    await asyncio.sleep(0)
    given_up.cancel()
    answered.set()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(each) for each in ended} == {UnknownKey}
    assert published.asked == 1
    published.down = False
    assert (await verifier.verify_late(token())).player_id == "u_ana"


NONSENSE = [b"", b"[]", b'{"keys": 1}', b'{"keys": [1, {"kty": "RSA", "kid": "x"}]}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("content", NONSENSE, ids=range(len(NONSENSE)))
async def test_nonsense_for_keys_lets_nobody_in_and_breaks_nothing(rig: Rig, content: bytes) -> None:
    settings = _settings(rig.settings)
    verifier = TokenVerifier(settings, provider=ProviderTokens(settings, lambda _: content))
    with pytest.raises(BadToken):
        await verifier.verify_late(token())


ODD_KEYS: list[dict[str, Any]] = [
    {"kty": "RSA", "kid": "x", "n": "AQAB", "e": "AQAB", "alg": "none"},
    {"kty": ["RSA"], "kid": "x"},
    {"kty": "OKP", "kid": ["x"]},
    {"kty": "EC", "crv": "P-256", "kid": "x", "x": 5, "y": []},
]


async def test_keys_that_are_odd_hide_no_good_one(verifier: TokenVerifier, published: Published) -> None:
    published.extra += ODD_KEYS
    assert await verifier.verify_late(token())


PIECES: dict[str, list[bytes]] = {
    "another protocol": [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"],
    "cut off": [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"],
    "endless headers": [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000],
    "nothing": [b""],
    "a flood": [b"HTTP/1.1 200 OK\r\n\r\n"] + [b" " * 65_536] * 20,
    "drop by drop": [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"] + [b" "] * 1_000,
}


@pytest.mark.parametrize("answer", PIECES)
async def test_whatever_stands_in_for_the_provider_the_known_keys_stay_and_nothing_ends(
    rig: Rig, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider is asked by work whose failure ends the process."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(OSError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.close()

    content = Published("ed").content
    pieces = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content)]
    monkeypatch.setattr(module, "LEARN_SECONDS", 0.0)
    monkeypatch.setattr(module, "FETCH_SECONDS", 0.3)
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        settings = _settings(rig.settings, jwks_url=f"http://{host}:{port}/keys")
        provider = ProviderTokens(settings)
        verifier = TokenVerifier(settings, provider=provider)
        assert await verifier.verify_late(token())
        pieces = PIECES[answer]
        async with asyncio.timeout(8):  # all of the last kind would take ten
            assert not await provider.learn()
        assert await verifier.verify_late(token(jti="another"))


async def test_a_token_that_lives_for_long_counts_for_as_long_as_its_end_would_be_known(rig: Rig) -> None:
    settings = _settings(rig.settings, jwks_token_seconds=3_600)
    verifier = TokenVerifier(settings, provider=ProviderTokens(settings, Published("ed").fetch))
    now = int(time.time())
    assert (await verifier.verify_late(token(iat=now, exp=now + 10**6))).expires == now + 3_600
    with pytest.raises(ExpiredToken):
        await verifier.verify_late(token(iat=now - 4_000, exp=now + 10**6))


async def test_a_session_of_the_provider_that_was_signed_out_stays_so_for_the_life_of_its_token(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when that is longer than the life of a guest's."""
    settings = _settings(rig.settings, session_seconds=120, clock_leeway_seconds=0, jwks_token_seconds=7_200)
    async with Store(StoreSettings(url=settings.redis_url, prefix=settings.redis_prefix)) as store:
        verifier = TokenVerifier(settings, provider=ProviderTokens(settings, Published("ed").fetch))
        session = await verifier.verify_late(token(exp=int(time.time()) + 3_600))
        revocations = Revocations(settings, store.pipelines)
        await revocations.sign_out(session)
        kept_ms = await store.pipelines.reads.command("PTTL", store.pipelines.keys.ended_sessions)
        assert kept_ms > 3_500_000, "for processes that start later"
        later = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + 3_500)
        monkeypatch.setattr(revocations_module, "time", later)
        await revocations.look()
        refused_now = revocations.refusal(session)
        assert refused_now is not None
        assert refused_now.reason == "SESSION_ENDED"


def test_a_provider_without_issuer_or_audience_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUMAU_JWKS_URL", "https://id.example/keys")
    with pytest.raises(SettingsError, match="MAUMAU_JWKS_URL needs MAUMAU_JWKS_ISSUER and MAUMAU_JWKS_AUDIENCE"):
        read_settings()
    monkeypatch.setenv("MAUMAU_JWKS_URL", "id.example/keys")
    with pytest.raises(SettingsError, match="MAUMAU_JWKS_URL"):
        read_settings()


async def test_guests_and_players_of_the_provider_play_on_one_server(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(Published("ed").content)
    rig.settings = _settings(rig.settings, jwks_url=(tmp_path / "keys.json").as_uri())
    channel = await rig.matchmaking()
    guest, identity = await sign_in(channel, "Bo"), IdentityServiceStub(channel)
    metadata = (("authorization", f"Bearer {token()}"),)
    seen = await identity.GetPlayer(pb.GetPlayerRequest(), metadata=metadata)
    assert seen.player == pb.Player(player_id="u_ana", display_name="Ana")
    assert (await identity.GetPlayer(pb.GetPlayerRequest(), metadata=guest.metadata)).player.guest
    await identity.SignOut(pb.SignOutRequest(), metadata=metadata)
    assert (await refused(identity.GetPlayer(pb.GetPlayerRequest(), metadata=metadata)))[1] == "SESSION_ENDED"
    other = (("authorization", f"Bearer {token(sub=guest.id)}"),)
    imitating = await identity.GetPlayer(pb.GetPlayerRequest(), metadata=other)
    assert imitating.player.player_id == f"u_{guest.id}", "no subject is somebody's guest"


async def test_where_guests_are_not_wanted_nobody_becomes_one(rig: Rig) -> None:
    rig.settings = rig.settings.model_copy(update={"guests": False})
    identity = IdentityServiceStub(await rig.matchmaking())
    assert (await refused(identity.SignInAsGuest(pb.SignInAsGuestRequest())))[1] == "NOT_ALLOWED"
