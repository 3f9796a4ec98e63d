-- enter, revision 1: enter or renew one stream in the presence set of a room.
-- KEYS  1 presence     ARGV  1 member  2 lifetime in ms     Reply 1 if it is new, 0 if renewed
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local added = redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return added
