-- open_ticket, revision 1: give a player a ticket; the same wish again keeps the one there is, another replaces it.
-- KEYS  1 holder  2 waiting  3 new ticket  4 the ticket that the holder named, or the new one again
-- ARGV  1 id that the holder named, or nothing  2 new id  3 digest of the wish  4 player  5 name  6 wish
--       7 ms after which an unseen ticket is dead  8 ms that an ended ticket is kept  9 "1" if an assigned match is over
-- Reply 0 the holder names another, 1 the same ticket, 2 being matched, 3 assigned, 4 opened, 5 opened in place of another
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
local replaced = false
if ARGV[1] ~= '' then
  local old = redis.call('HMGET', KEYS[4], 'state', 'digest', 'seen')
  local state = old[1]
  if state == '1' and now - tonumber(old[3]) >= tonumber(ARGV[7]) then
    redis.call('HSET', KEYS[4], 'state', 5)
    redis.call('ZREM', KEYS[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[4], ARGV[8])
  elseif (state == '1' or state == '2') and old[2] == ARGV[3] then
    redis.call('HSET', KEYS[4], 'seen', now)
    return 1
  elseif state == '2' then
    return 2
  elseif state == '3' and ARGV[9] ~= '1' then
    return 3
  elseif state == '1' then
    redis.call('HSET', KEYS[4], 'state', 6)
    redis.call('ZREM', KEYS[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[4], ARGV[8])
    replaced = true
  end
end
redis.call('HSET', KEYS[3], 'state', 1, 'digest', ARGV[3], 'player', ARGV[4], 'name', ARGV[5], 'wish', ARGV[6],
  'created', now, 'seen', now)
redis.call('SET', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[2], now, ARGV[2])
return replaced and 5 or 4
