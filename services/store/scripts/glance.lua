-- glance, revision 1: how far a room is and what its clock says, without its state.
-- KEYS  1 room     Reply {version, mark, clock, now}, version nil if there is no such room
local time = redis.call('TIME')
local stored = redis.call('HMGET', KEYS[1], 'v', 'm', 'c')
stored[4] = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return stored
