"""Where options come from: the codes that their declarations name."""

from __future__ import annotations

import re
from typing import Final

SOURCES: Final[dict[str, str]] = {
    "S000": "the description of Tranca that this project began with (Italian, in part Portuguese)",
    "S001": "the description of Mau-Mau with 32 cards that this project began with (Italian)",
    "S002": "the description of Mau-Mau with two packs that this project began with (Spanish)",
    "S003": "a second text of S001 (Scottish Gaelic)",
    "S004U": "the description of UNO that this project began with (Portuguese)",
    "APCEF": "APCEF/MG, canastra regulations",
    "BEN": "benward, expanded UNO rules (2013)",
    "BP": "baralho-paus.blogspot.com, Buraco",
    "CAND": "blog.candian.com.br, Mau Mau Voador",
    "CGH": "cardgameshub.com, Mau Mau",
    "CHM": "mau-mau-ch, middleman-mau-mau.ch, rules",
    "CO": "canastra.online, rules",
    "COPAG": "Copag, Mau-Mau page",
    "Canasta": "the rules of Canasta",
    "DEW": "German Wikipedia, Mau-Mau",
    "DOS": "dos-uno, usual UNO rules",
    "EB": "eburraco.com, Tranca",
    "EDG": "edgarlatorre/tranca",
    "ENW": "English Wikipedia, Mau-Mau",
    "FOLHA": "mapadobrincar.folha.com.br, Mau, mau",
    "GVB": "gamevelvet.com, Buraco canastra",
    "GVM": "gamevelvet.com, Megaburaco",
    "GVT": "gamevelvet.com, the page of Tranca's definitions",
    "JM": "jogadamestra.com.br, UNO",
    "JOG": "jogatina.com, Tranca",
    "KSN": "kartenspiele.net, Mau-Mau",
    "LCG": "lonelycatgames.com, Mau Mau",
    "LG": "lite.games, Mau Mau, Crazy Eights, Switch, Pesten and Makao",
    "LIVE": "livemaumau.de, rules",
    "M08": "Mattel's sheet of the 108-card UNO",
    "M112": "Mattel's sheet of the 112-card UNO",
    "MJB": "blog.megajogos.com.br, Buraco",
    "MK": "mauking.com, card rules",
    "MOLD": "an older UNO sheet of Mattel",
    "MUN": "mundigames.com, Tranca",
    "OML": "online-maumau-lernen.de, variants",
    "PAG": "pagat.com, Buraco",
    "PARLETT": "David Parlett, The Penguin Book of Card Games, Mau-Mau",
    "PJ": "playjoy.com, Buraco",
    "PTB": "Portuguese Wikipedia, Buraco",
    "RAD": "radford.edu, Mau rules summary",
    "SPF": "spielfibel.de, Mau Mau",
    "SPIN": "spinchat.com, Mau Mau",
    "TCC": "tcc-senac/tcc-tranca_buraco, rule screens",
    "TSR": "a public TypeScript rules module of Tranca",
    "own": "a choice of this project, where no source says anything",
}


def codes_of(source: str) -> list[str]:
    """The codes in an option's source: those of the descriptions first, then those of other pages."""
    return re.split(r"[;,] ", source)
