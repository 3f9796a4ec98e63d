-- Joined in front of commit.lua and rearm.lua, after outages.lua. The clock of a room (msgpack): turn_at, window_at,
-- deadline, kind, due_from, credited, then the bank of each seat.
local TURN, WINDOW, DEADLINE, KIND, FROM, CREDITED, BANKS = 1, 2, 3, 4, 5, 6, 6

-- How far one outage moves an origin: by the part of it in which the origin's clock ran. After a step back of the clock
-- every origin goes back with it.
local function shift(origin, from, to)
  if origin == 0 then return 0 end
  if to < from then return to - from end
  return math.max(0, to - math.max(from, origin))
end

local function credit_outages(clock, outages, last)
  for _, outage in ipairs(cmsgpack.unpack(outages)) do
    local id, from, to = unpack(outage)
    if id > clock[CREDITED] then
      clock[TURN] = clock[TURN] + shift(clock[TURN], from, to)
      clock[WINDOW] = clock[WINDOW] + shift(clock[WINDOW], from, to)
      local moved = shift(clock[FROM], from, to)
      clock[FROM] = clock[FROM] + moved
      if clock[DEADLINE] > 0 then clock[DEADLINE] = clock[DEADLINE] + moved end
    end
  end
  clock[CREDITED] = last
end

local function bank_of(clock, seat)
  return clock[BANKS + seat + 1] or error({err = 'BADSEAT seat ' .. seat .. ' has no bank in this room'})
end

-- The earliest of what is pending becomes the one deadline.
local function set_deadline(clock, pending, now)
  clock[DEADLINE], clock[KIND], clock[FROM] = 0, 0, 0
  for _, item in ipairs(pending) do
    local kind, origin, after, seat = unpack(item)
    local from = origin == 0 and now or clock[origin]
    if from == 0 then error({err = 'BADORIGIN a pending time counts from a turn or window that never began'}) end
    local at = from + after + (seat >= 0 and bank_of(clock, seat) or 0)
    if clock[DEADLINE] == 0 or at < clock[DEADLINE] then
      clock[DEADLINE], clock[KIND], clock[FROM] = at, kind, from
    end
  end
end
