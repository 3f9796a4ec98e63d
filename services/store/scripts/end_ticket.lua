-- end_ticket, revision 2: end a waiting ticket: cancelled by a player, or dead because nobody looked at it.
-- KEYS  1 ticket  2 waiting  then the holders of its players
-- ARGV  1 time or nothing  2 id  3 "4" cancelled or "5" expired  4 ms after which an unseen ticket is dead
--       5 ms that it is kept
-- Reply the state now; a ticket that is being matched is only marked as cancelled
local now = moment(ARGV[1])
local found = redis.call('HMGET', KEYS[1], 'state', 'seen')
local state = found[1]
if not state then
  return 0
end
if state == '2' and ARGV[3] == '4' then
  redis.call('HSET', KEYS[1], 'cancel', 1)
end
if state ~= '1' or (ARGV[3] == '5' and now - tonumber(found[2]) < tonumber(ARGV[4])) then
  return tonumber(state)
end
redis.call('HSET', KEYS[1], 'state', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('ZREM', KEYS[2], ARGV[2])
for holder = 3, #KEYS do
  if redis.call('GET', KEYS[holder]) == ARGV[2] then
    redis.call('DEL', KEYS[holder])
  end
end
return tonumber(ARGV[3])
