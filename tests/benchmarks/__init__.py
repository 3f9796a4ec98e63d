"""Figures of this server on the machine at hand, always beside something measured in the same run.

make bench                     everything, at most half an hour
make bench ARGS="path"         the path of an action: rooms of clients, against sketches of the bare path
make bench ARGS="path --quick" the same in a minute
"""
