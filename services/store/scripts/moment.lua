-- moment: the time of Redis in ms, or the one that was given instead (a simulated day).
local function moment(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
