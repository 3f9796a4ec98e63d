-- void_match, revision 2: take the result of a match back. What followed from it stands until the pool is recomputed.
-- KEYS  1 match  2 head  3 ledger  4 voids
-- ARGV  1 match id
-- Reply {0 unknown, 1 voided, 2 repeated; index of the entry}
local known = redis.call('HMGET', KEYS[1], 'index', 'voided')
if not known[1] then
  return {0, 0}
end
if known[2] then
  redis.call('HSET', KEYS[1], 'voided', known[2])  -- a write, so that WAIT is about this, too
  return {2, tonumber(known[2])}
end
local index = redis.call('HINCRBY', KEYS[2], 'index', 1)
redis.call('XADD', KEYS[3], index .. '-0', 'k', 'void', 'm', ARGV[1], 'i', known[1])
redis.call('HSET', KEYS[1], 'voided', index)
redis.call('SADD', KEYS[4], known[1])
redis.call('HSET', KEYS[2], 'void', index)
return {1, index}
