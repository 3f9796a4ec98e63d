"""Bots that play as real clients do: for tests, for load, and for whoever wants to see a match."""
