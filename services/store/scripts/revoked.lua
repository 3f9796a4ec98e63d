-- revoked, revision 1: which sessions were ended since a time, and the bans where they have changed.
-- KEYS  1 ended sessions  2 bans  3 count of changes of bans     ARGV  1 since in ms  2 count known
-- Reply {now in ms, ended sessions, count, players and ends of bans in turn, or nil where nothing has changed}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ended = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf')
local count = tonumber(redis.call('GET', KEYS[3]) or 0)
local bans = false
if count ~= tonumber(ARGV[2]) then
  bans = redis.call('ZRANGEBYSCORE', KEYS[2], now, '+inf', 'WITHSCORES')
end
return {now, ended, count, bans}
