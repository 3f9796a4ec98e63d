-- finish_rebuild, revision 1: the new generation takes the place of the present one, if it holds every entry of the ledger.
-- KEYS  1 head  2 rebuild
-- ARGV  1 token  2 lease in ms  3 generation that it began from  4 new generation  5 index of the last entry in it
-- Reply 0 the lease is lost, 1 done, 2 there are newer entries
if redis.call('GET', KEYS[2]) ~= ARGV[1] or (redis.call('HGET', KEYS[1], 'generation') or '0') ~= ARGV[3] then
  return 0
end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
if (redis.call('HGET', KEYS[1], 'index') or '0') ~= ARGV[5] then
  return 2
end
redis.call('HSET', KEYS[1], 'generation', ARGV[4], 'built', redis.call('HGET', KEYS[1], 'void') or 0)
return 1
