-- forget_entrant, revision 1: a player is no longer known in a pool. The entrant stays in the ledger, as a mere number.
-- KEYS  1 head  2 ledger  3 numbers  4 entrants  5 standings  6 history  then all boards
-- ARGV  1 player  2 entrant  3 generation  4 standing
-- Reply 0 nobody, 1 forgotten, 2 something moved: look again
if redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[2] then
  return 0
end
local generation = redis.call('HGET', KEYS[1], 'generation') or '0'
if generation ~= ARGV[3] or (redis.call('HGET', KEYS[5], ARGV[2]) or '') ~= ARGV[4] then
  return 2
end
local index = redis.call('HINCRBY', KEYS[1], 'index', 1)
redis.call('XADD', KEYS[2], index .. '-0', 'k', 'forget', 'e', ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[2])
redis.call('HDEL', KEYS[5], ARGV[2])
redis.call('UNLINK', KEYS[6])
for board = 7, #KEYS do
  redis.call('ZREM', KEYS[board], ARGV[2])
end
return 1
