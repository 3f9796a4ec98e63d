-- board, revision 2: lines of a board with their places. A score is the number of matches minus 2^22 for each win, so that
-- more wins come first, then fewer matches, then whoever came to the pool first; equal wins share a place.
-- KEYS  1 head  2 board
-- ARGV  1 generation  2 entrant or nothing  3 first position from 0, or lines above the entrant  4 number of lines, or
--       lines below
-- Reply {-1, generation} if it is another one; nil without the entrant; else {number of lines of the board, entrant,
--       score, place, ...}
local generation = redis.call('HGET', KEYS[1], 'generation') or '0'
if generation ~= ARGV[1] then
  return {-1, tonumber(generation)}
end
local first, last = tonumber(ARGV[3]), tonumber(ARGV[3]) + tonumber(ARGV[4]) - 1
if ARGV[2] ~= '' then
  local position = redis.call('ZRANK', KEYS[2], ARGV[2])
  if not position then
    return false
  end
  first, last = math.max(0, position - tonumber(ARGV[3])), position + tonumber(ARGV[4])
end
local lines = redis.call('ZRANGE', KEYS[2], first, last, 'WITHSCORES')
local reply = {redis.call('ZCARD', KEYS[2])}
local wins, place
for line = 1, #lines, 2 do
  local own = math.ceil(-tonumber(lines[line + 1]) / 4194304)
  if own ~= wins then
    wins = own
    place = redis.call('ZCOUNT', KEYS[2], '-inf', string.format('%.0f', -own * 4194304 - 1)) + 1
  end
  reply[#reply + 1] = lines[line]
  reply[#reply + 1] = lines[line + 1]
  reply[#reply + 1] = place
end
return reply
