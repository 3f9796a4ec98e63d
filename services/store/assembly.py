"""Puts the store together: one object that a service opens at its start and closes at its end."""

from __future__ import annotations

from services.store.batcher import Pipelines
from services.store.connect import StoreSettings
from services.store.dead import DeadResults
from services.store.fleet import Fleet
from services.store.hub import Hub
from services.store.outbox import Outbox
from services.store.presence import Presence
from services.store.primaries import primaries
from services.store.rooms import RoomStore
from services.store.sweep import Sweep


class Store:
    """Everything in Redis that concerns rooms. Make it inside the running loop; nothing connects before it is used."""

    def __init__(self, settings: StoreSettings) -> None:
        self.primaries = primaries(settings)
        self.pipelines = Pipelines(self.primaries)
        self.rooms = RoomStore(self.pipelines)
        self.presence = Presence(self.pipelines, settings.presence_ms)
        self.fleet = Fleet(self.pipelines)
        self.outbox = Outbox(self.pipelines)
        self.dead = DeadResults(self.pipelines)
        self.sweep = Sweep(self.pipelines)
        self.hub = Hub(self.primaries)

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening, let what was sent be answered, then close the connections."""
        await self.hub.aclose()
        await self.pipelines.aclose()
        await self.primaries.aclose()
