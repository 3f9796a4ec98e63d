"""`python -m services.matchmaking`: one matchmaking process, which also signs people in."""

from __future__ import annotations

import asyncio
import time

from maumau.internal.v1.operator_pb2_grpc import add_OperatorServiceServicer_to_server
from maumau.v1.identity_pb2_grpc import add_IdentityServiceServicer_to_server
from maumau.v1.matchmaking_pb2_grpc import add_MatchmakingServiceServicer_to_server

from services.matchmaking.authority import RoomControl
from services.matchmaking.backfill import Backfill
from services.matchmaking.belongings import Belongings
from services.matchmaking.directory import Directory
from services.matchmaking.handlers import MatchmakingService, limits_message
from services.matchmaking.identity import IdentityService
from services.matchmaking.line import Line
from services.matchmaking.making import Maker
from services.matchmaking.newcomers import Newcomers
from services.matchmaking.operator import OperatorService
from services.matchmaking.parties import BlockDesk, PartyDesk
from services.matchmaking.queues import Queues
from services.matchmaking.quick_play import QuickPlay
from services.matchmaking.ratings import RatingLookup
from services.matchmaking.rooms import RoomDesk
from services.matchmaking.starts import Starts
from services.matchmaking.tickets import TicketDesk
from services.matchmaking.waits import Waits
from services.runtime.invites import Invites
from services.runtime.lifecycle import Runtime, run_service
from services.runtime.routes import MATCHMAKING
from services.runtime.store_metrics import measure_store
from services.runtime.store_watch import StoreWatch
from services.runtime.stores import can_write, open_store
from services.runtime.tokens import TokenSigner
from services.runtime.trust import Trust
from services.runtime.unoffered import offer
from services.store.assembly import Store
from services.store.claims import ClaimStore
from services.store.encounters import EncounterStore
from services.store.parties import BlockStore, PartyStore
from services.store.players import InviteIndex, PlayerStore
from services.store.tickets import TicketStore


class Matchmaking:
    """What the process asks of its service. Only watched tickets outlive a deadline; they end while `leaving` is
    set."""

    def __init__(self, store: Store, control: RoomControl, ratings: RatingLookup) -> None:
        self._store = store
        self._control = control
        self._ratings = ratings
        self.leaving = asyncio.Event()

    async def ready(self) -> bool:
        return await can_write(self._store)

    async def drain(self) -> None:
        self.leaving.set()

    async def resume(self) -> None:
        self.leaving.clear()

    async def leave_when(self, stopping: asyncio.Event) -> None:
        """Sends watchers of tickets away as soon as the process stops."""
        await stopping.wait()
        self.leaving.set()

    async def close(self) -> None:
        await self._control.aclose()
        await self._ratings.aclose()
        await self._store.aclose()


async def bind(runtime: Runtime) -> Matchmaking:
    """Opens the store and the ways to the other services, and puts the services on their ports."""
    settings = runtime.settings
    store, control, ratings = open_store(settings), RoomControl(settings), RatingLookup(settings)
    process = Matchmaking(store, control, ratings)
    trust = Trust(runtime, store.pipelines)
    players = PlayerStore(store.pipelines, settings.guest_days)
    watch = StoreWatch(settings, store)
    _offer_identity(runtime, players, trust, watch)
    index, invites = InviteIndex(store.pipelines), Invites(settings)
    alive_ms, patience_ms = round(settings.ticket_seconds * 1000), round(settings.quick_play_bots_seconds * 1000)
    tickets = TicketStore(store.pipelines, alive_ms)
    claims = ClaimStore(store.pipelines, alive_ms, round(settings.claim_seconds * 1000))
    encounters = EncounterStore(store.pipelines, _now_ms)
    blocks = BlockStore(store.pipelines, settings.guest_days, settings.blocked_players)
    directory, waits, line = Directory(store.rooms), Waits(encounters), Line(tickets, alive_ms)
    maker = Maker(claims, control, index, invites, encounters)
    starts, backfill = Starts(claims, control, invites, encounters), Backfill(directory, control, maker, blocks)
    quick_play = QuickPlay(claims, line, maker, starts, backfill)
    party_store = PartyStore(store.pipelines, settings.party_players)
    parties = PartyDesk(party_store, tickets, invites, settings.party_players, trust.limits.code_lookup)
    counter = TicketDesk(
        *(tickets, parties, Newcomers(ratings, blocks, encounters), waits, store.rooms, control, invites),
        *(patience_ms, _now_ms, quick_play.soon, process.leaving, trust.authenticator.check),
    )
    desk = RoomDesk(
        *(control, players, index, invites, store.rooms, encounters, settings.player_rooms),
        trust.limits.code_lookup,
    )
    block_desk = BlockDesk(blocks, players, settings.blocked_players, guests_only=settings.jwks_url is None)
    matchmaking = MatchmakingService(
        *(desk, counter, parties, block_desk, Queues(line, waits, patience_ms), directory),
        *(limits_message(settings), _now_ms, watch.refuse_if_full),
    )
    runtime.public.add(add_MatchmakingServiceServicer_to_server, offer("maumau.v1.MatchmakingService", matchmaking))
    belongings = Belongings(players, tickets, party_store, blocks, trust.revocations)
    operator = OperatorService(trust.revocations, belongings)
    runtime.internal.add(add_OperatorServiceServicer_to_server, offer("maumau.internal.v1.OperatorService", operator))
    runtime.spawn(quick_play.run(), "quick play")
    runtime.spawn(watch.watch(), "redis")
    runtime.spawn(measure_store(store), "store metrics")
    runtime.spawn(process.leave_when(runtime.stopping), "leaving")
    return process


def _offer_identity(runtime: Runtime, players: PlayerStore, trust: Trust, watch: StoreWatch) -> None:
    signer = TokenSigner(runtime.settings)
    service = IdentityService(players, signer, trust.revocations, runtime.settings, watch.refuse_if_full)
    runtime.public.add(add_IdentityServiceServicer_to_server, offer("maumau.v1.IdentityService", service))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    run_service(MATCHMAKING, bind)
