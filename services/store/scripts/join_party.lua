-- join_party, revision 2: put a player into a party.
-- KEYS  1 party  2 party of the player
-- ARGV  1 party  2 player  3 name  4 most players  5 ms that it is kept  6 "1" if the party is new
-- Reply {0 no such party, 1 in it, also for who was before, 2 full; the party that the player was in, or nothing}
local members = redis.call('LRANGE', KEYS[1], 0, -1)
if #members == 0 and ARGV[6] ~= '1' then
  return {0, ''}
end
local known = false
for _, member in ipairs(members) do
  known = known or string.sub(member, 1, #ARGV[2] + 1) == ARGV[2] .. '\n'
end
if not known then
  if #members >= tonumber(ARGV[4]) then
    return {2, ''}
  end
  redis.call('RPUSH', KEYS[1], ARGV[2] .. '\n' .. ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
local before = redis.call('GET', KEYS[2]) or ''
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[5])
return {1, before}
