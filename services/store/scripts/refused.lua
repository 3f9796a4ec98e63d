-- refused, revision 1: count a refusal of an outbox entry; the tenth moves it to the dead ones.
-- KEYS  1 outbox  2 refusals  3 dead     ARGV  1 entry id  2 most refusals
-- Reply the number of refusals, 0 if there is no such entry, -1 if the entry is dead now
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not entry then return 0 end
local refusals = redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
if refusals < tonumber(ARGV[2]) then return refusals end
redis.call('XADD', KEYS[3], '*', 'id', ARGV[1], unpack(entry[2]))
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return -1
