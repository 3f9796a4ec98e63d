-- open_ticket, revision 3: give a player or a party a ticket; the same wish again keeps the one there is, another replaces it.
-- KEYS  1 waiting  2 new ticket  then for each player: holder, the ticket that it named (or the new one again)
-- ARGV  1 time or nothing  2 new id  3 digest of the wish and its players  4 wish  5 about the players  6 players, packed
--       7 ms after which an unseen ticket is dead  8 ms that an ended ticket is kept
--       then for each player: player, id that the holder named (or nothing), "1" if its assigned match is over
-- Reply {what, number of the player}: 0 a holder names another, 1 the same ticket, 2 being matched, 3 assigned, 4 opened,
--       5 opened in place of another
local now = moment(ARGV[1])
local players = (#KEYS - 2) / 2
local function of(player)
  return KEYS[1 + 2 * player], KEYS[2 + 2 * player], ARGV[6 + 3 * player], ARGV[7 + 3 * player], ARGV[8 + 3 * player]
end
for player = 1, players do
  local holder, _, _, named = of(player)
  if (redis.call('GET', holder) or '') ~= named then
    return {0, player}
  end
end
local ending = {}
for player = 1, players do
  local _, old, _, named, over = of(player)
  if named ~= '' then
    local found = redis.call('HMGET', old, 'state', 'digest', 'seen')
    local state = found[1]
    if (state == '1' or state == '2') and found[2] == ARGV[3] then
      redis.call('HSET', old, 'seen', now)
      redis.call('HDEL', old, 'cancel')
      return {1, player}
    elseif state == '1' and now - tonumber(found[3]) >= tonumber(ARGV[7]) then
      ending[named] = {old, 5}
    elseif state == '2' then
      return {2, player}
    elseif state == '3' and over ~= '1' then
      return {3, player}
    elseif state == '1' then
      ending[named] = {old, 6}
    end
  end
end
local replaced = false
for named, what in pairs(ending) do
  redis.call('HSET', what[1], 'state', what[2])
  redis.call('ZREM', KEYS[1], named)
  redis.call('PEXPIRE', what[1], ARGV[8])
  replaced = replaced or what[2] == 6
end
redis.call('HSET', KEYS[2], 'state', 1, 'digest', ARGV[3], 'wish', ARGV[4], 'about', ARGV[5], 'players', ARGV[6],
  'created', now, 'seen', now)
for player = 1, players do
  local holder, _, name = of(player)
  redis.call('HSET', KEYS[2], 'of:' .. name, 1)
  redis.call('SET', holder, ARGV[2])
end
redis.call('ZADD', KEYS[1], now, ARGV[2])
return {replaced and 5 or 4, 0}
