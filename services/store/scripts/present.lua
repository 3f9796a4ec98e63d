-- present, revision 1: the members of a room's presence set that have not expired.
-- KEYS  1 presence     Reply {member, ...}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return redis.call('ZRANGE', KEYS[1], '(' .. now, '+inf', 'BYSCORE')
