-- drop_dead, revision 1: forget a dead result, and the log that was kept for it.
-- KEYS  1 dead  2 room  3 log  4 copy of the log     ARGV  1 id among the dead     Reply 1 done, 0 there is no such result
-- A result without `w` was given up by a release whose rooms go on waiting for it.
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local given_up = false
for i = 1, #entry[2], 2 do given_up = given_up or entry[2][i] == 'w' end
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('UNLINK', KEYS[4])
if not given_up then settle(KEYS[2], KEYS[3]) end
return 1
