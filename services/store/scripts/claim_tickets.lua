-- claim_tickets, revision 1: take the tickets of a match off the queue, all or none, under a lease.
-- KEYS  1 waiting  2 claims  3 claim  then the tickets
-- ARGV  1 match  2 lease in ms  3 ms after which an unseen ticket is dead  4 what the match shall be  then the tickets' ids
-- Reply the end of the lease in ms, or 0 if a ticket no longer waits and nothing has changed
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for number = 4, #KEYS do
  local found = redis.call('HMGET', KEYS[number], 'state', 'seen')
  if found[1] ~= '1' or now - tonumber(found[2]) >= tonumber(ARGV[3]) then
    return 0
  end
end
for number = 4, #KEYS do
  redis.call('HSET', KEYS[number], 'state', 2, 'match', ARGV[1])
  redis.call('ZREM', KEYS[1], ARGV[number + 1])
end
local ends = now + tonumber(ARGV[2])
redis.call('SET', KEYS[3], ARGV[4])
redis.call('ZADD', KEYS[2], ends, ARGV[1])
return ends
