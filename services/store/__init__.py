"""Everything in Redis; the only package that imports redis.

`assembly.Store` opens it all. `rooms` has the commit, `records` what goes in and comes out, `keys` every key and
channel, `scripts/` the Lua. State and payloads are opaque bytes here; the rules and the wire are for others.
"""
