-- claim_tickets, revision 2: take the tickets of a match off the queue, all or none, under a lease.
-- KEYS  1 waiting  2 claims  3 claim  then the tickets
-- ARGV  1 time or nothing  2 match  3 lease in ms  4 ms after which an unseen ticket is dead  5 what the match shall be
--       then the tickets' ids
-- Reply the end of the lease in ms, or 0 if a ticket no longer waits and nothing has changed
local now = moment(ARGV[1])
for number = 4, #KEYS do
  local found = redis.call('HMGET', KEYS[number], 'state', 'seen')
  if found[1] ~= '1' or now - tonumber(found[2]) >= tonumber(ARGV[4]) then
    return 0
  end
end
for number = 4, #KEYS do
  redis.call('HSET', KEYS[number], 'state', 2, 'match', ARGV[2])
  redis.call('ZREM', KEYS[1], ARGV[number + 2])
end
local ends = now + tonumber(ARGV[3])
redis.call('SET', KEYS[3], ARGV[5])
redis.call('ZADD', KEYS[2], ends, ARGV[2])
return ends
