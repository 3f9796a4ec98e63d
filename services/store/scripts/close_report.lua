-- close_report, revision 2: note what became of a report; the first note stands.
-- KEYS  1 the report     ARGV  1 by whom  2 verdict     Reply 1, or 0 if there is no such report
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
if redis.call('HSETNX', KEYS[1], 'verdict', ARGV[2]) == 1 then
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[1], 'by', ARGV[1], 'closed', now)
else
  redis.call('HSET', KEYS[1], 'verdict', redis.call('HGET', KEYS[1], 'verdict'))  -- a write, so that WAIT is about this
end
return 1
