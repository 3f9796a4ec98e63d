-- end_rebuild, revision 1: give the lease back, if it is still the caller's.
-- KEYS  1 rebuild
-- ARGV  1 token
-- Reply 1 given back, 0 it was lost
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
