-- fleet, revision 1: the processes that announced themselves of late.
-- KEYS  1 pulses  2 about     ARGV  1 within ms     Reply {process, about, ...}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local reply = {}
for _, process in ipairs(redis.call('ZRANGE', KEYS[1], now - tonumber(ARGV[1]), '+inf', 'BYSCORE')) do
  reply[#reply + 1] = process
  reply[#reply + 1] = redis.call('HGET', KEYS[2], process) or ''
end
return reply
