-- put_profile, revision 1: set fields of a player and let it live on.
-- KEYS  1 profile     ARGV  1 lifetime in ms  then field, value, ...     Reply 1 if the player is new, else 0
local new = 1 - redis.call('EXISTS', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return new
