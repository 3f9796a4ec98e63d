"""Pages of a list: how many lines, and the token that says where the next page begins.

A token is opaque to clients. It names its list, so that one list's token is no other's; it holds no secret.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, Generic, TypeVar, cast

import msgspec

from services.wire.errors import invalid_field, refusal

DEFAULT_PAGE: Final = 20
LARGEST_PAGE: Final = 100
_LONGEST_TOKEN: Final = 1_024
"""A place may name a player, whose id has 512 bytes at most."""

_NUMBERS: Final = range(-(2**53), 2**53)
"""What a number of a place may be, so that it fits into messages and is exact in Redis' scripts."""

Place = TypeVar("Place", bound=tuple[object, ...])


def page_size(asked: int, field: str = "page_size", *, default: int = DEFAULT_PAGE, most: int = LARGEST_PAGE) -> int:
    """The number of lines for a request: 1 to `most`, `default` for 0. Raises Refusal (INVALID_FIELD)."""
    if not 0 <= asked <= most:
        raise invalid_field(field, asked, f"1 to {most}, or 0 for {default}")
    return asked or default


class PageTokens(Generic[Place]):
    """The tokens of one list. A place is a NamedTuple of plain values."""

    def __init__(self, name: str, place: type[Place]) -> None:
        self._name = name
        self._decode = msgspec.msgpack.Decoder(tuple[str, place]).decode  # type: ignore[valid-type]

    def write(self, place: Place) -> str:
        """The token for the page that begins after this place."""
        return base64.urlsafe_b64encode(msgspec.msgpack.encode((self._name, place))).decode().rstrip("=")

    def read(self, token: str) -> Place | None:
        """The place in a token; None for an empty one. Raises Refusal (BAD_PAGE_TOKEN)."""
        if not token:
            return None
        try:
            if len(token) > _LONGEST_TOKEN:
                raise ValueError
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
            name, place = cast("tuple[str, Place]", self._decode(raw))
        except (ValueError, binascii.Error, msgspec.MsgspecError):
            raise refusal("BAD_PAGE_TOKEN") from None
        if name != self._name or any(isinstance(value, int) and value not in _NUMBERS for value in place):
            raise refusal("BAD_PAGE_TOKEN")
        return place
