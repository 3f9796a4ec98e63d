-- season, revision 2: open a season of a pool, or close the running one. Results count on the season that runs when they
-- are counted.
-- KEYS  1 head  2 ledger  3 seasons
-- ARGV  1 `open` or `close`  2 season id  3 name, to open
-- Reply {0 done, 1 repeated, 2 another runs or this one is over, 3 unknown; the season}
local running, season = redis.call('HGET', KEYS[1], 'season'), redis.call('HGET', KEYS[3], ARGV[2])
if ARGV[1] == 'open' and running == ARGV[2] or ARGV[1] == 'close' and season and running ~= ARGV[2] then
  redis.call('HSET', KEYS[3], ARGV[2], season)  -- a write, so that WAIT is about this, too
  return {1, season}
end
if ARGV[1] == 'open' and (running or season) then
  return {2, running or ARGV[2]}
end
if ARGV[1] == 'close' and not season then
  return {3, ''}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local index = redis.call('HINCRBY', KEYS[1], 'index', 1)
redis.call('XADD', KEYS[2], index .. '-0', 'k', ARGV[1], 's', ARGV[2])
if ARGV[1] == 'open' then
  season = cmsgpack.pack({ARGV[3], now, 0})
  redis.call('HSET', KEYS[1], 'season', ARGV[2])
else
  local was = cmsgpack.unpack(season)
  season = cmsgpack.pack({was[1], was[2], now})
  redis.call('HDEL', KEYS[1], 'season')
end
redis.call('HSET', KEYS[3], ARGV[2], season)
return {0, season}
