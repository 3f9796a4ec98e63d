-- gcra, revision 2: charge calls to one limit (generic cell rate algorithm): one time stamp for each limit.
-- KEYS  1 limit     ARGV  1 µs that one call is worth  2 calls at once  3 calls now  4 charge them even above the limit
-- Reply {1 if they are within the limit, µs until one more call would be, µs of calls that are charged and not worn off}
-- A stamp far ahead is one of a Redis whose clock was: nobody has to wait until this clock is there.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst, calls = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = tonumber(redis.call('GET', KEYS[1]) or 0)
local charged = math.min(math.max(stored, now), now + 2 * burst * interval)
local after = charged + calls * interval
local within = after - now <= burst * interval
if within or ARGV[4] == '1' then charged = after end
if charged ~= math.max(stored, now) then
  redis.call('SET', KEYS[1], string.format('%.0f', charged), 'PX', math.max(1, math.ceil((charged - now) / 1000)))
end
local debt = charged - now
return {within and 1 or 0, math.max(0, debt + interval - burst * interval), debt}
