-- retire, revision 1: end a room, unless it moved on.
-- KEYS  1 room  2 log  3 deadlines  4 open  5 presence     ARGV  1 room id  2 mark  3 lifetime in ms, 0 to drop at once
-- Reply 1 done, 0 the room has another mark or is gone
if redis.call('HGET', KEYS[1], 'm') ~= ARGV[2] then return 0 end
if ARGV[3] == '0' then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[5])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('HDEL', KEYS[4], ARGV[1])
  return 1
end
redis.call('HSET', KEYS[1], 'x', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
