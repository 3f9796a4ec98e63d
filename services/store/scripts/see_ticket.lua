-- see_ticket, revision 1: read a ticket as its player does, which keeps it alive.
-- KEYS  1 ticket     ARGV  1 player     Reply {field, value, ...}, or {} if there is none or it is another player's
if redis.call('HGET', KEYS[1], 'player') ~= ARGV[1] then
  return {}
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'seen', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
return redis.call('HGETALL', KEYS[1])
