-- begin_rebuild, revision 1: begin a new generation of what follows from the ledger, unless somebody else does.
-- KEYS  1 head  2 rebuild  3 generations
-- ARGV  1 token of the caller  2 lease in ms
-- Reply nil if somebody else does, else {present generation, new generation}
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
local generation = tonumber(redis.call('HGET', KEYS[1], 'generation') or 0)
local new = redis.call('HINCRBY', KEYS[1], 'generations', 1)
redis.call('ZADD', KEYS[3], generation, generation, new, new)
return {generation, new}
