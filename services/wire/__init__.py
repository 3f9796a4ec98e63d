"""Protos ⇄ rules, both ways, and the table of errors. No decisions, no I/O.

`errors` refuses; `validate` checks plain fields; `actions`, `rulesets` and `settings` read requests; `events`, `views`,
`results` and `summaries` write answers; `updates` and `resume` make what goes over streams; `forms` finds what
corresponds.
"""
