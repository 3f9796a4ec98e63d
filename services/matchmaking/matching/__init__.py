"""Who plays whom: from the waiting tickets to matches. Pure; the present time is an argument.

**Pools.** Tickets meet that want the same ruleset and the same number of seats. A region meets itself and those that
name none, never another.

**Distance** (`distances`). Two tickets are as far apart as their ratings, in points of OpenSkill's mu; a party counts
with the mean of its players. To that come 1.5 points for each step between two stated paces, and 12 points if they have
just played together, so that they meet again only where nobody else is near.

**Windows** (`windows`). A ticket takes others within its window. It begins at 1 point to either side and doubles with
every quarter of its patience, or of a minute where the patience is longer; after that all are taken, the nearest first.
(On a simulated day, `make bench queue`, this halves the spread of ratings in a match against serving those first who
came first, for half as much again of the longest waits. A wider first window or a faster growth gives up more of the
one than it wins of the other.)

**Order** (`proposing`). The oldest ticket chooses first: the nearest tickets in its window that fill the seats,
whatever their own windows are, so that it is never left behind by better pairs of younger ones. If its window has too
few, it waits and the next oldest chooses.

**Parties** (`company`) stay together; those are taken together that fill the seats exactly. Whoever blocks somebody
never sits with him, whoever of the two did it.

**Bots.** Once a ticket has waited for as long as it has patience, bots take the seats that are left; those come along
whose own patience is nearly over too, so that people who wait at the same time meet each other instead of playing with
bots alone.

**Seats** (`seating`). In partnership games a party of partners gets one side, and the others are spread so that both
sides are about as strong; else the seats follow the tickets, the oldest first.
"""
