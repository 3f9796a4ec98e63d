-- retry_dead, revision 1: a dead result goes back to the outbox, and its room, if it is still there, waits for it again.
-- KEYS  1 dead  2 outbox  3 room     ARGV  1 id among the dead  2 its first id in the outbox, by which its log is kept
-- Reply 1 done, 0 there is no such result
-- A result without `w` was given up by a release whose rooms go on waiting for it.
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local found = {}
for i = 1, #entry[2], 2 do found[entry[2][i]] = entry[2][i + 1] end
redis.call('XADD', KEYS[2], '*', 'r', found.r, 'v', found.v, 'b', found.b, 'f', ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[1])
if found.w and redis.call('EXISTS', KEYS[3]) == 1 then redis.call('HINCRBY', KEYS[3], 'o', 1) end
return 1
