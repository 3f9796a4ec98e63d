-- commit, revision 5: one new version of one room. Every check comes before the first write.
-- KEYS  1 room  2 log  3 deadlines  4 outbox  5 open  6 channel  7 outages
-- ARGV  1 room id  2 version it builds on (0: make the room)  3 mark of that version  4 new mark  5 state  6 payload
--       7 change of the clock (msgpack, see `_pack_change` in rooms.py)  8 outbox entry, '' for none
--       9 listing: '' leave, '-' remove, '+...' set  10 lifetime in ms, 0 to stay  11 '1' if the caller waits for replicas
--       12 '1' if the log entry keeps the state
-- Reply {0, now, clock, outbox id}  committed      {1, version, mark, state, clock, now}  conflict
--       {2, ms left}                early          {3, credited, last}                    uncredited
--       {4}                         missing        {5}                                    damaged
-- The room's hash: v version, m mark, s state, c clock, x lifetime in ms while the room has one, o outbox entries that
-- are not confirmed: while there are any the room stays with its log, whatever its lifetime (see confirm.lua, where the
-- log loses what scoring has; a then says when the room was made).
local NO_MARK = string.rep('\0', 8)

local now = now_ms()
local wanted = tonumber(ARGV[2])
local stored = redis.call('HMGET', KEYS[1], 'v', 'm', 'c', 'x', 'o')
local version = tonumber(stored[1] or 0)
local mark = stored[2] or NO_MARK

local function newest()
  -- WAIT covers what its own connection wrote. Whoever repeats a commit that no replica confirmed learns here that it
  -- took effect, and must not take that for confirmed: so this connection writes something that changes nothing.
  if ARGV[11] == '1' then redis.pcall('HSET', KEYS[1], 'v', version) end
  return {1, version, mark, redis.call('HGET', KEYS[1], 's'), stored[3], now}
end

if version == 0 and wanted > 0 then
  -- What the partition still lists of a room that is gone would come up again and again.
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('HDEL', KEYS[5], ARGV[1])
  return {4}
end
if version ~= wanted or (wanted > 0 and mark ~= ARGV[3]) then return newest() end
if version == 0 and redis.call('EXISTS', KEYS[2]) == 1 then return {5} end

local due, charge, base, restart_turn, restart_window, credit, banks, pending = unpack(cmsgpack.unpack(ARGV[7]))
local pulse, last, outages = unpack(redis.call('HMGET', KEYS[7], 'p', 'n', 'o'))
pulse, last = tonumber(pulse or nil), tonumber(last or 0)
if is_outage(pulse, now) then
  last = last + 1
  outages = record_outage(KEYS[7], last, pulse, now, outages)
end

local clock = stored[3] and cmsgpack.unpack(stored[3]) or {0, 0, 0, 0, 0, last}
local deadline_before = clock[DEADLINE]

if due > 0 then
  if clock[KIND] ~= due then return newest() end
  if now < clock[DEADLINE] then return {2, clock[DEADLINE] - now} end
end
if due > 0 and clock[CREDITED] < last then return {3, clock[CREDITED], last} end

local function charge_seat()
  if clock[TURN] == 0 then error({err = 'BADORIGIN a seat is charged for a turn that never began'}) end
  local bank, over = bank_of(clock, charge), now - clock[TURN] - base
  if over > 0 then clock[BANKS + charge + 1] = math.max(0, bank - over) end
end

local function set_banks()
  for seat = #clock - BANKS, 1, -1 do clock[BANKS + seat] = nil end
  for seat, ms in ipairs(banks) do clock[BANKS + seat] = ms end
end

if credit and clock[CREDITED] < last then credit_outages(clock, outages, last) end
if charge >= 0 then charge_seat() end
if banks then set_banks() end
if restart_turn then clock[TURN] = now end
if restart_window then clock[WINDOW] = now end
if pending then set_deadline(clock, pending, now) end

local packed = cmsgpack.pack(clock)
version = version + 1

-- The log comes first: it is the one write that may be refused, and then nothing has been written.
local entry = {'p', ARGV[6], 'm', ARGV[4], 'b', mark, 't', now, 'c', packed}
if ARGV[12] == '1' then entry[11], entry[12] = 's', ARGV[5] end
local added = redis.pcall('XADD', KEYS[2], string.format('%d-0', version), unpack(entry))
if type(added) == 'table' then
  if string.find(added.err, 'equal or smaller', 1, true) then return {5} end
  return added
end
redis.call('HSET', KEYS[1], 'v', version, 'm', ARGV[4], 's', ARGV[5], 'c', packed)

if clock[DEADLINE] > 0 then
  redis.call('ZADD', KEYS[3], clock[DEADLINE], ARGV[1])
  -- A deadline that was set before anybody's first pulse must not miss the outage that follows.
  if not pulse then redis.call('HSET', KEYS[7], 'p', now) end
elseif deadline_before > 0 then
  redis.call('ZREM', KEYS[3], ARGV[1])
end

local outbox_id, owed = false, tonumber(stored[5] or 0)
if ARGV[8] ~= '' then
  outbox_id = redis.call('XADD', KEYS[4], '*', 'r', ARGV[1], 'v', version, 'b', ARGV[8])
  owed = redis.call('HINCRBY', KEYS[1], 'o', 1)
end

local listing = string.sub(ARGV[9], 1, 1)
if listing == '-' then
  redis.call('HDEL', KEYS[5], ARGV[1])
elseif listing == '+' then
  redis.call('HSET', KEYS[5], ARGV[1], string.sub(ARGV[9], 2))
end

local lifetime = tonumber(ARGV[10])
if lifetime > 0 then
  redis.call('HSET', KEYS[1], 'x', lifetime)
  if owed == 0 then
    redis.call('PEXPIREAT', KEYS[1], now + lifetime)
    redis.call('PEXPIREAT', KEYS[2], now + lifetime)
  end
elseif stored[4] then
  redis.call('HDEL', KEYS[1], 'x')
  redis.call('PERSIST', KEYS[1])
  redis.call('PERSIST', KEYS[2])
end

-- The form of a message: see `unpack_message` in packing.py.
local message = struct.pack('>BI8c8c8I8I4I4', 1, version, ARGV[4], mark, now, #packed, #ARGV[6])
redis.call('SPUBLISH', KEYS[6], message .. packed .. ARGV[6] .. ARGV[5])
return {0, now, packed, outbox_id}
