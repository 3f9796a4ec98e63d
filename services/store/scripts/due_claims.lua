-- due_claims, revision 1: take over claims whose lease has ended; whoever asks next finds them leased again.
-- KEYS  1 claims     ARGV  1 lease in ms  2 at most     Reply {end of the new lease, match, ...}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local reply = {now + tonumber(ARGV[1])}
for _, match in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', KEYS[1], reply[1], match)
  reply[#reply + 1] = match
end
return reply
