"""Scenario files of rules.md 7: given a position, when these actions, then this must hold."""
