-- end_ticket, revision 1: end a waiting ticket: cancelled by its player, or dead because nobody looked at it.
-- KEYS  1 ticket  2 waiting  3 holder
-- ARGV  1 id  2 "4" cancelled or "5" expired  3 ms after which an unseen ticket is dead  4 ms that it is kept
-- Reply the state now; a ticket that is being matched is only marked as cancelled
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = redis.call('HMGET', KEYS[1], 'state', 'seen')
local state = found[1]
if not state then
  return 0
end
if state == '2' and ARGV[2] == '4' then
  redis.call('HSET', KEYS[1], 'cancel', 1)
end
if state ~= '1' or (ARGV[2] == '5' and now - tonumber(found[2]) < tonumber(ARGV[3])) then
  return tonumber(state)
end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('GET', KEYS[3]) == ARGV[1] then
  redis.call('DEL', KEYS[3])
end
return tonumber(ARGV[2])
