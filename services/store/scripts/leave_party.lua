-- leave_party, revision 1: take a player out of a party; the next one leads it.
-- KEYS  1 party  2 party of the player     ARGV  1 party  2 player     Reply 1, or 0 for who was not in it
local left = 0
for _, member in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if string.sub(member, 1, #ARGV[2] + 1) == ARGV[2] .. '\n' then
    left = left + redis.call('LREM', KEYS[1], 1, member)
  end
end
if redis.call('GET', KEYS[2]) == ARGV[1] then
  redis.call('DEL', KEYS[2])
end
return left
