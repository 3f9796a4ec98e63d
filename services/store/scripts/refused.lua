-- refused, revision 2: count a refusal of an outbox entry; the tenth moves it to the dead ones, with a copy of the room's
-- log. The room waits for it no longer.
-- KEYS  1 outbox  2 refusals  3 dead  4 room  5 log  6 copy of the log
-- ARGV  1 entry id  2 most refusals  3 why  4 ms that the copy is kept
-- Reply the number of refusals, 0 if there is no such entry, -1 if the entry is dead now
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local refusals = redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
if refusals < tonumber(ARGV[2]) then return refusals end
redis.call('COPY', KEYS[5], KEYS[6])
redis.call('PEXPIRE', KEYS[6], ARGV[4])
redis.call('XADD', KEYS[3], '*', 'id', ARGV[1], 'w', ARGV[3], unpack(entry[2]))
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
settle(KEYS[4], KEYS[5])
return -1
