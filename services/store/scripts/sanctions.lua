-- sanctions, revision 2: the players who are banned or muted now, the earliest end first, and by name where it is equal.
-- KEYS  1 players by end in ms  2 reasons by player     ARGV  1 most of them  2 earliest end in ms  3 so many are left out
-- Reply player, end in ms, why in turn
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local earliest = math.max(now + 1, tonumber(ARGV[2]))
local found = redis.call('ZRANGEBYSCORE', KEYS[1], earliest, '+inf', 'WITHSCORES', 'LIMIT', ARGV[3], ARGV[1])
local reply = {}
for i = 1, #found, 2 do
  reply[#reply + 1] = found[i]
  reply[#reply + 1] = found[i + 1]
  reply[#reply + 1] = redis.call('HGET', KEYS[2], found[i]) or ''
end
return reply
