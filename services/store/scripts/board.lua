-- board, revision 1: lines of a board with their places; equal scores share a place, and stand in the order of their ids.
-- KEYS  1 board
-- ARGV  1 player or nothing  2 first position from 0, or lines above the player  3 number of lines, or lines below
-- Reply nil without the player, else {number of lines of the board, player, score, place, ...}
local first, last = tonumber(ARGV[2]), tonumber(ARGV[2]) + tonumber(ARGV[3]) - 1
if ARGV[1] ~= '' then
  local position = redis.call('ZRANK', KEYS[1], ARGV[1])
  if not position then
    return false
  end
  first, last = math.max(0, position - tonumber(ARGV[2])), position + tonumber(ARGV[3])
end
local lines = redis.call('ZRANGE', KEYS[1], first, last, 'WITHSCORES')
local reply = {redis.call('ZCARD', KEYS[1])}
local score, place
for line = 1, #lines, 2 do
  if lines[line + 1] ~= score then
    score = lines[line + 1]
    place = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score) + 1
  end
  reply[#reply + 1] = lines[line]
  reply[#reply + 1] = score
  reply[#reply + 1] = place
end
return reply
