-- fill, revision 1: write to a key of a new generation, as long as the lease lasts; this renews it.
-- KEYS  1 rebuild  2 standings or a board  3 spans
-- ARGV  1 token  2 lease in ms  3 `HSET`, `HDEL`, `ZADD` or `ZREM`  4 span of a board or nothing  5 its end in ms or 0
--       then what is written
-- Reply 0 the lease is lost, 1 written
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if #ARGV > 5 then
  redis.call(ARGV[3], KEYS[2], unpack(ARGV, 6))
end
if ARGV[4] ~= '' then
  redis.call('SADD', KEYS[3], ARGV[4])
  if ARGV[5] ~= '0' then
    redis.call('PEXPIREAT', KEYS[2], ARGV[5])
  end
end
return 1
