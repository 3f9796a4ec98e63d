"""Check: whether settings, keys and Redis are what the services need, before they start or while they run."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

import typer

from services.maumauctl.app import FAULTY, app, desk
from services.maumauctl.check_files import check_keys, check_provider, check_tls
from services.maumauctl.check_redis import check_redis
from services.maumauctl.finding import FAULT, OK, Finding
from services.maumauctl.place import find_settings
from services.runtime.settings import Settings, SettingsError
from services.runtime.stores import open_store
from services.store.errors import StoreError


@app.command("check")
def check(
    context: typer.Context,
    no_redis: Annotated[bool, typer.Option("--no-redis", help="Leave Redis alone.")] = False,
) -> None:
    """Look at the settings as the services would read them, at keys and certificates, and at Redis. Every finding says
    what would be right. Exit code 4 where there is a fault."""
    at = desk(context)
    try:
        settings = find_settings()
    except SettingsError as error:
        findings = [Finding("settings", FAULT, line, "as docs/settings.md lists it") for line in str(error).split("\n")]
    else:
        findings = [Finding("settings", OK, "all understood"), *check_keys(settings), *check_tls(settings)]
        findings += check_provider(settings)
        findings += [] if no_redis else asyncio.run(_redis(settings))
    at.out.lines([finding._asdict() for finding in findings], "")
    faults = [finding for finding in findings if finding.level == FAULT]
    if faults:
        at.fail(FAULTY, "FAULTS", f"{len(faults)} found.")


async def _redis(settings: Settings) -> list[Finding]:
    silent = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # what is wrong is a finding; what connections say as they break is none
    try:
        async with open_store(settings) as store:
            return [finding async for finding in check_redis(store, settings)]
    except StoreError as error:
        return [Finding("redis", FAULT, str(error), "a Redis that answers")]
    finally:
        logging.disable(silent)
