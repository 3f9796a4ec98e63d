-- announce, revision 1: a process says that it lives and what it is.
-- KEYS  1 pulses  2 about     ARGV  1 process  2 about  3 forget after ms     Reply now
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local gone = redis.call('ZRANGE', KEYS[1], '-inf', now - tonumber(ARGV[3]), 'BYSCORE', 'LIMIT', 0, 100)
for _, process in ipairs(gone) do
  redis.call('ZREM', KEYS[1], process)
  redis.call('HDEL', KEYS[2], process)
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return now
