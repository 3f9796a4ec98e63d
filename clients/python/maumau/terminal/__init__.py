"""The table in a terminal of 80 columns and 24 lines: what it shows and how it is played with the keyboard."""
