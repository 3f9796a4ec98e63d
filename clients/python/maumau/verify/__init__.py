"""Checks a replay by itself: every card that was dealt and drawn, from the revealed seed and what was published.

    report = verify(replay)          # Report: what is proven, what is not, and what is wrong

It shares nothing with the server: it follows docs/fair-deals.md, as a checker in another language would.
"""

from maumau.verify.match import verify
from maumau.verify.report import Report

__all__ = ["Report", "verify"]
