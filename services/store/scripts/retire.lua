-- retire, revision 2: end a room, unless it moved on. With outbox entries not confirmed it stays until they are.
-- KEYS  1 room  2 log  3 deadlines  4 open  5 presence     ARGV  1 room id  2 mark  3 lifetime in ms, 0 to drop at once
-- Reply 1 done, 0 the room has another mark or is gone
local mark, owed = unpack(redis.call('HMGET', KEYS[1], 'm', 'o'))
if mark ~= ARGV[2] then return 0 end
if ARGV[3] == '0' then
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('HDEL', KEYS[4], ARGV[1])
  if not owed then
    redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[5])
    return 1
  end
end
redis.call('HSET', KEYS[1], 'x', math.max(1, tonumber(ARGV[3])))
if not owed then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return 1
