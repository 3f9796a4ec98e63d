-- block, revision 1: note that a player never wants to meet another.
-- KEYS  1 blocked     ARGV  1 the other  2 most that are kept  3 ms that the list is kept
-- Reply 1, also for a known one; 0 if the list is full
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
    return 0
  end
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[1], tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
