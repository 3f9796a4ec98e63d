-- see_ticket, revision 2: read a ticket as one of its players does, which keeps it alive.
-- KEYS  1 ticket     ARGV  1 time or nothing  2 player
-- Reply {field, value, ...}, or {} if there is none or it is other players'
if redis.call('HEXISTS', KEYS[1], 'of:' .. ARGV[2]) == 0 then
  return {}
end
redis.call('HSET', KEYS[1], 'seen', moment(ARGV[1]))
return redis.call('HGETALL', KEYS[1])
