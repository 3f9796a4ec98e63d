-- apply_result, revision 1: count the result of a match once, whoever reports it how often.
-- KEYS  1 match  2 applied  3 ledger  4 board  then for each person: totals, history
-- ARGV  1 match id  2 digest  3 record  4 ledger entry  5 end of the match in ms  6 lifetime in ms
--       7 oldest end kept in histories, in ms  8 people, as msgpack: {player, name, counts wins, {field, sum, ...}}
-- Reply {0 applied, 1 repeated or 2 another result stands, index in the ledger}
local known = redis.call('HMGET', KEYS[1], 'digest', 'index')
if known[1] then
  return {known[1] == ARGV[2] and 1 or 2, tonumber(known[2])}
end
local people = cmsgpack.unpack(ARGV[8])
if #KEYS ~= 4 + 2 * #people then
  return redis.error_reply('ERR apply_result: two keys for each person')
end
local index = redis.call('INCR', KEYS[2])
redis.call('XADD', KEYS[3], index .. '-0', 'm', ARGV[1], 'd', ARGV[2], 'b', ARGV[4])
redis.call('HSET', KEYS[1], 'digest', ARGV[2], 'index', index, 'record', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
for place, person in ipairs(people) do
  local player, name, wins, sums = unpack(person)
  local totals, history = KEYS[3 + 2 * place], KEYS[4 + 2 * place]
  if #sums > 0 then
    redis.call('HSET', totals, 'name', name)
    for field = 1, #sums, 2 do
      redis.call('HINCRBY', totals, sums[field], sums[field + 1])
    end
  end
  if wins >= 0 then
    redis.call('ZINCRBY', KEYS[4], -wins, player)
  end
  redis.call('ZADD', history, ARGV[5], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', history, '-inf', '(' .. ARGV[7])
  redis.call('PEXPIRE', history, ARGV[6])
end
return {0, index}
