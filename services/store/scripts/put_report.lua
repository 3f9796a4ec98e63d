-- put_report, revision 2: keep a report, once, and forget those that are too old.
-- KEYS  1 reports by time in ms  2 the report     ARGV  1 id  2 content  3 how long it is kept, in ms
-- Reply 1 if it is new, else 0
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[3]))
if redis.call('HSETNX', KEYS[2], 'content', ARGV[2]) == 0 then
  redis.call('PEXPIRE', KEYS[2], ARGV[3])  -- a write, so that WAIT is about this report, too
  return 0
end
redis.call('HSET', KEYS[2], 'time', now)
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[1], now, ARGV[1])
return 1
