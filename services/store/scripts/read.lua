-- read, revision 1: a room as it is stored, and the time.
-- KEYS  1 room     Reply {version, mark, state, clock, now}, version nil if there is no such room
local time = redis.call('TIME')
local stored = redis.call('HMGET', KEYS[1], 'v', 'm', 's', 'c')
stored[5] = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return stored
