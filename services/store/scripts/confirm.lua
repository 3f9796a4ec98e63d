-- confirm, revision 1: scoring has what an outbox entry stands for. A room whose end waited for that may go now.
-- KEYS  1 outbox  2 refusals  3 room  4 log     ARGV  1 entry id     Reply 1 done, 0 there is no such entry
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
local owed, lifetime = unpack(redis.call('HMGET', KEYS[3], 'o', 'x'))
if not owed then return 1 end
if redis.call('HINCRBY', KEYS[3], 'o', -1) > 0 then return 1 end
redis.call('HDEL', KEYS[3], 'o')
if lifetime then
  redis.call('PEXPIRE', KEYS[3], lifetime)
  redis.call('PEXPIRE', KEYS[4], lifetime)
end
return 1
