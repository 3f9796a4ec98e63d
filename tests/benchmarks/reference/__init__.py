"""The bare path of an action: gRPC, one script in Redis, fan-out to four clients, and nothing else.

No rules, identity, validation, clock or resuming: what a message costs on this machine with these libraries. The
server is measured beside it, and the ratio is quoted.
"""
