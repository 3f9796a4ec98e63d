-- enlist, revision 1: the entrants that players are in a pool, with their standings; a stranger may be given a number.
-- KEYS  1 head  2 numbers  3 entrants  4 standings
-- ARGV  1 generation of the standings  2 `1` to give strangers a number  then the players
-- Reply {generation, season, entrant, standing, ...}, empty for none; {generation} alone if it is another one
local head = redis.call('HMGET', KEYS[1], 'generation', 'season')
local generation = tonumber(head[1] or 0)
if generation ~= tonumber(ARGV[1]) then
  return {generation}
end
local reply = {generation, head[2] or ''}
for place = 3, #ARGV do
  local entrant = redis.call('HGET', KEYS[2], ARGV[place])
  if not entrant and ARGV[2] == '1' then
    entrant = string.format('%09d', redis.call('HINCRBY', KEYS[1], 'entrants', 1))
    redis.call('HSET', KEYS[2], ARGV[place], entrant)
    redis.call('HSET', KEYS[3], entrant, cmsgpack.pack({ARGV[place], ''}))
  end
  reply[#reply + 1] = entrant or ''
  reply[#reply + 1] = entrant and redis.call('HGET', KEYS[4], entrant) or ''
end
return reply
