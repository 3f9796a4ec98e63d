-- apply_result, revision 3: count the result of a match once, whoever reports it how often.
-- KEYS  1 match  2 head  3 ledger  4 entrants  5 standings  6 spans  then a board for each span, a history for each person
-- ARGV  1 match id  2 digest  3 record  4 body of the ledger entry  5 end of the match in ms  6 lifetime in ms
--       7 oldest end kept in histories, in ms  8 generation  9 season  10 number of spans  then for each span: name, end
--       of its board in ms or 0  then for each person: entrant, id and name, standing before, after, change on boards or 0
-- Reply {0 applied, 1 repeated, 2 another result stands, 3 something moved: compute again; index in the ledger}
local known = redis.call('HMGET', KEYS[1], 'digest', 'index')
if known[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[6])  -- a write, so that WAIT is about this result, too
  return {known[1] == ARGV[2] and 1 or 2, tonumber(known[2])}
end
local head = redis.call('HMGET', KEYS[2], 'generation', 'season')
if (head[1] or '0') ~= ARGV[8] or (head[2] or '') ~= ARGV[9] then
  return {3, 0}
end
local spans = tonumber(ARGV[10])
local first = 11 + 2 * spans
local people = (#ARGV - first + 1) / 5
if #KEYS ~= 6 + spans + people then
  return redis.error_reply('ERR apply_result: a key for each span and person')
end
for person = 0, people - 1 do
  local entrant, before = ARGV[first + 5 * person], ARGV[first + 5 * person + 2]
  if redis.call('HEXISTS', KEYS[4], entrant) == 0 or (redis.call('HGET', KEYS[5], entrant) or '') ~= before then
    return {3, 0}
  end
end
local index = redis.call('HINCRBY', KEYS[2], 'index', 1)
redis.call('XADD', KEYS[3], index .. '-0', 'k', 'result', 'm', ARGV[1], 'd', ARGV[2], 'b', ARGV[4])
redis.call('HSET', KEYS[1], 'digest', ARGV[2], 'index', index, 'record', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
for person = 0, people - 1 do
  local entrant, about, _, after, change = unpack(ARGV, first + 5 * person, first + 5 * person + 4)
  local history = KEYS[7 + spans + person]
  redis.call('HSET', KEYS[4], entrant, about)
  redis.call('HSET', KEYS[5], entrant, after)
  redis.call('ZADD', history, ARGV[5], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', history, '-inf', '(' .. ARGV[7])
  redis.call('PEXPIRE', history, ARGV[6])
  if change ~= '0' then
    for span = 1, spans do
      redis.call('ZINCRBY', KEYS[6 + span], change, entrant)
    end
  end
end
for span = 1, spans do
  local name, ends = ARGV[9 + 2 * span], ARGV[10 + 2 * span]
  redis.call('SADD', KEYS[6], name)
  if ends ~= '0' then
    redis.call('PEXPIREAT', KEYS[6 + span], ends)
  end
end
return {0, index}
