-- sweep, revision 2: the pulse of one partition, and what is due in it.
-- KEYS  1 outages  2 deadlines     ARGV  1 most rooms to name  2 only rooms overdue by this many ms
-- Reply nil if no room of the partition waits for time, else {now, earliest deadline, outage that this sweep found, id of
--       the last outage, room, deadline, ...}
local WRITE_EVERY_MS = 500

local now = now_ms()
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local pulse, last = unpack(redis.call('HMGET', KEYS[1], 'p', 'n'))
pulse, last = tonumber(pulse or nil), tonumber(last or 0)
if not first[1] then
  -- Nobody waits, so nobody can lose time, and an idle partition costs no write. The commit that sets the next
  -- deadline starts the pulse again.
  if pulse then redis.call('HDEL', KEYS[1], 'p') end
  return false
end

local found = false
if is_outage(pulse, now) then
  last = last + 1
  found = {last, pulse, now}
  record_outage(KEYS[1], last, pulse, now, redis.call('HGET', KEYS[1], 'o'))
elseif not pulse or now - pulse >= WRITE_EVERY_MS then
  redis.call('HSET', KEYS[1], 'p', now)
end

local reply = {now, tonumber(first[2]), found, last}
local latest = now - tonumber(ARGV[2])
if reply[2] <= latest then
  local due = redis.call('ZRANGE', KEYS[2], '-inf', latest, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
  for i = 1, #due do reply[4 + i] = due[i] end
end
return reply
