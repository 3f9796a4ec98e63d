-- ban, revision 1: keep a player away until a time, or lift that. Bans that are over are forgotten.
-- KEYS  1 bans  2 count of changes     ARGV  1 player  2 time in ms; 0 lifts the ban
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
end
return redis.call('INCR', KEYS[2])
