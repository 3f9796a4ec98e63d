"""The rules of a room, as `services.rules` has the rules of the games: pure, without clock, chance or I/O.

A room is seats, a ruleset, settings, a phase, and, once started, a match. `apply` judges one attempted action and gives
the next room with the events of that version, what the clock must do, what scoring must hear and what the room list
shows. Store, wire, services and the simulator all run this same code.

Where to look: `actions`, `events`, `reasons`, `settings` and `state` name the values; `apply` judges; `making`,
`lobby`, `starting`, `playing`, `leaving`, `ending` and `after` do; `clock` and `timers` say what is pending, `timeouts`
and `due` what is done when it comes due; `views` what a viewer may know; `codec` and `journal` are the stored forms.
"""
