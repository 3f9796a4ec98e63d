-- Joined in front of commit.lua and sweep.lua. The hash of a partition holds p: its last pulse in ms, n: the id of its
-- last outage, o: the last outages as {id, from, to}. Whoever comes first after a silence records it.
local GAP_MS = 3000
local KEPT = 32

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function is_outage(pulse, now)
  return pulse ~= nil and (now - pulse > GAP_MS or now < pulse)
end

local function record_outage(key, id, pulse, now, packed)
  local outages = packed and cmsgpack.unpack(packed) or {}
  outages[#outages + 1] = {id, pulse, now}
  if #outages > KEPT then table.remove(outages, 1) end
  local repacked = cmsgpack.pack(outages)
  redis.call('HSET', key, 'p', now, 'n', id, 'o', repacked)
  return repacked
end
