-- settle_claim, revision 1: give the tickets of a claim their room, or put them back with their waiting time.
-- KEYS  1 waiting  2 claims  3 claim  then for each ticket: ticket, holder
-- ARGV  1 match  2 room, or nothing to put back  3 end of the lease held  4 ms that an ended ticket is kept
--       then for each ticket: id, seat
-- Reply 1, or 0 if the claim was settled already; only the holder of the lease may put tickets back
local ends = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not ends or (ARGV[2] == '' and tonumber(ends) ~= tonumber(ARGV[3])) then
  return 0
end
for number = 1, (#KEYS - 3) / 2 do
  local ticket, holder = KEYS[2 + 2 * number], KEYS[3 + 2 * number]
  local id, seat = ARGV[3 + 2 * number], ARGV[4 + 2 * number]
  local found = redis.call('HMGET', ticket, 'match', 'created', 'cancel')
  if found[1] == ARGV[1] then
    if ARGV[2] ~= '' then
      redis.call('HSET', ticket, 'state', 3, 'room', ARGV[2], 'seat', seat)
      redis.call('PEXPIRE', ticket, ARGV[4])
      redis.call('PEXPIRE', holder, ARGV[4])
    elseif found[3] then
      redis.call('HSET', ticket, 'state', 4)
      redis.call('HDEL', ticket, 'match')
      redis.call('PEXPIRE', ticket, ARGV[4])
      if redis.call('GET', holder) == id then
        redis.call('DEL', holder)
      end
    else
      redis.call('HSET', ticket, 'state', 1)
      redis.call('HDEL', ticket, 'match')
      redis.call('ZADD', KEYS[1], found[2], id)
    end
  end
end
redis.call('DEL', KEYS[3])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
