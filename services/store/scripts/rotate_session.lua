-- rotate_session, revision 4: exchange the refresh token of a session for the next one; each works once. The one before
-- is taken for a while longer, if it leads to the very same next one: its first answer may have been lost.
-- KEYS  1 session  2 profile  3 sessions of the player     ARGV  1 hash shown  2 hash of the next  3 lifetime in ms  4 grace in ms
-- Stored: hash of the present token, then hash of the one before and the ms until which that is taken
-- Reply 1 and the session and the player live on, or 0 and nothing has changed
local stored = redis.call('GET', KEYS[1])
if not stored then
  return 0
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if string.sub(stored, 1, 32) == ARGV[1] then
  local ends = string.format('%.0f', now + tonumber(ARGV[4]))
  redis.call('SET', KEYS[1], ARGV[2] .. ARGV[1] .. ends, 'PX', ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
  return 1
end
local repeated = string.sub(stored, 33, 64) == ARGV[1] and string.sub(stored, 1, 32) == ARGV[2]
if repeated and now < tonumber(string.sub(stored, 65)) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])  -- a write, so that WAIT is about the first exchange, too
  return 1
end
return 0
