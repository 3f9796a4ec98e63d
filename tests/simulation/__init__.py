"""A deterministic simulation of the authority: its own code over a simulated Redis and clock, with drawn faults."""
