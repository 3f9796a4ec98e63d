"""What stands before the handlers of a process, put together: who is calling, whether that session is still wanted, and
how often it may."""

from __future__ import annotations

from services.runtime.auth import Authenticator, InternalGuard, PublicGuard
from services.runtime.lifecycle import Runtime
from services.runtime.limits import Limits
from services.runtime.provider import ProviderTokens
from services.runtime.revocations import Revocations
from services.runtime.tokens import TokenVerifier
from services.store.batcher import Pipelines
from services.store.limits import LimitStore


class Trust:
    """The guards of both ports, and their parts that handlers ask."""

    def __init__(self, runtime: Runtime, pipelines: Pipelines) -> None:
        settings = runtime.settings
        provider = None if settings.jwks_url is None else ProviderTokens(settings)
        self.revocations = Revocations(settings, pipelines)
        self.limits = Limits(settings, LimitStore(pipelines))
        self.authenticator = Authenticator(TokenVerifier(settings, provider=provider), self.revocations.refusal)
        runtime.public.guard(PublicGuard(self.authenticator, self.limits.bad_token))
        runtime.public.guard(self.limits, tools=True)
        runtime.public.hold(self.limits.stream)
        runtime.internal.guard(InternalGuard(settings))
        runtime.spawn(self.revocations.run(), "revocations")
        if provider is not None:
            runtime.spawn(provider.keep_fresh(), "identity provider")
