"""The games, pure: no I/O, no clock, no global randomness, no protobuf, no asyncio.

Start at `engine.py`: one interface for every game.
"""
