-- rearm, revision 1: what is pending in a room changed without a version: somebody came, or went.
-- KEYS  1 room  2 deadlines  3 outages
-- ARGV  1 room id  2 version  3 mark  4 pending (msgpack)  5 '1': the turn begins now
--       6 grace: '' for none, else seat  7 which turn it is granted for  8 ms  9 ms that a seat may have in all
-- Reply {now, clock}, or nil if the room is not at that version, owes a credit, or has had that grace
local now = now_ms()
local version, mark, packed, last_grace = unpack(redis.call('HMGET', KEYS[1], 'v', 'm', 'c', 'gt'))
if version ~= ARGV[2] or mark ~= ARGV[3] then return false end
local clock = cmsgpack.unpack(packed)
if clock[CREDITED] < tonumber(redis.call('HGET', KEYS[3], 'n') or 0) then return false end

local pending = cmsgpack.unpack(ARGV[4])
local granted = 0
if ARGV[6] ~= '' then
  local used = tonumber(redis.call('HGET', KEYS[1], 'g' .. ARGV[6]) or 0)
  granted = math.min(tonumber(ARGV[8]), tonumber(ARGV[9]) - used)
  if last_grace == ARGV[7] or granted <= 0 then return false end
end
if ARGV[5] == '1' then clock[TURN] = now end
set_deadline(clock, pending, now)
if granted > 0 and clock[DEADLINE] > 0 then clock[DEADLINE] = math.max(clock[DEADLINE], now + granted) end

packed = cmsgpack.pack(clock)
if granted > 0 then redis.call('HINCRBY', KEYS[1], 'g' .. ARGV[6], granted) redis.call('HSET', KEYS[1], 'gt', ARGV[7]) end
redis.call('HSET', KEYS[1], 'c', packed)
if clock[DEADLINE] > 0 then
  redis.call('ZADD', KEYS[2], clock[DEADLINE], ARGV[1])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return {now, packed}
