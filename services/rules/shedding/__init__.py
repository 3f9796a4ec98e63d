"""The shedding games: Mau-Mau 32, Mau-Mau Brasil and UNO.

Start at one of `mau_mau_32.py`, `mau_mau_brasil.py`, `uno.py` for the rules in words, at `phases.py` for what may be
done when. `state.py` is the table; `fit.py` says which card goes on which, `card_effects.py` what it does there;
`plays.py`, `groups.py` and `jump_in.py` lay cards by way of `laying.py`, `turns.py` draws and passes, `calls.py` and
`windows.py` are about the last card, `wild_four.py`, `pauses.py`, `finish.py` and `last_seven.py` about the phases in
which play waits, `scoring.py` about the end. `listing.py` lists legal actions, `view.py` says who sees what.
"""
