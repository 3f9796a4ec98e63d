"""`maumau blocks`: players that one never wants to meet."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Console

from maumau.client import connect

blocks_app = typer.Typer(help="Players that you never want to be matched with.", no_args_is_help=True)
_Address = Annotated[str | None, typer.Option(help="Server as host:port.")]
_Player = Annotated[str, typer.Argument(help="Id of the player.")]
_console = Console(highlight=False)


@blocks_app.command("list")
def list_blocks(address: _Address = None) -> None:
    """List them by id, the latest first."""
    for player in asyncio.run(_change(address, "", blocks=True)):
        _console.print(player, markup=False)


@blocks_app.command("add")
def add_block(player: _Player, address: _Address = None) -> None:
    """Block a player, from your next search for a match on."""
    asyncio.run(_change(address, player, blocks=True))


@blocks_app.command("remove")
def remove_block(player: _Player, address: _Address = None) -> None:
    """Take a block back."""
    asyncio.run(_change(address, player, blocks=False))


async def _change(address: str | None, player: str, *, blocks: bool) -> list[str]:
    """Those who are blocked after a change; no player: no change."""
    async with connect(address, remember=True) as client:
        if player:
            await (client.blocks.add(player) if blocks else client.blocks.remove(player))
        return await client.blocks.all()
