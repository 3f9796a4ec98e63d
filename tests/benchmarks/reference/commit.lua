-- KEYS  1 state (hash)  2 log (stream)  3 channel      ARGV  1 version it builds on  2 state  3 event
-- Reply: the new version, or the present one negated where it is another.
local version = tonumber(redis.call('HGET', KEYS[1], 'v') or '0')
if version ~= tonumber(ARGV[1]) then return -version end
version = version + 1
redis.call('HSET', KEYS[1], 'v', version, 's', ARGV[2])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 100, '*', 'v', version, 'e', ARGV[3])
redis.call('PUBLISH', KEYS[3], ARGV[3])
return version
