-- settle_claim, revision 3: give the tickets of a claim their room, or put them back with their waiting time.
-- KEYS  1 waiting  2 claims  3 claim  4 starts  5 start  then for each ticket: ticket, and the holders of its players
-- ARGV  1 time or nothing  2 match  3 room, or nothing to put back  4 end of the lease held  5 ms that an ended ticket is
--       kept  6 ms until the match is looked at, 0 never  then for each ticket: id, seats, number of players
-- Reply 1, or 0 if the claim was settled already; only the holder of the lease may put tickets back
local ends = redis.call('ZSCORE', KEYS[2], ARGV[2])
if not ends or (ARGV[3] == '' and tonumber(ends) ~= tonumber(ARGV[4])) then
  return 0
end
local now = moment(ARGV[1])
local key, arg = 6, 7
while key <= #KEYS do
  local ticket, id, seats, players = KEYS[key], ARGV[arg], ARGV[arg + 1], tonumber(ARGV[arg + 2])
  local found = redis.call('HMGET', ticket, 'match', 'created', 'cancel')
  if found[1] == ARGV[2] then
    if ARGV[3] ~= '' then
      redis.call('HSET', ticket, 'state', 3, 'room', ARGV[3], 'seats', seats)
      redis.call('HDEL', ticket, 'cancel')
      redis.call('PEXPIRE', ticket, ARGV[5])
      for holder = key + 1, key + players do
        if redis.call('GET', KEYS[holder]) == id then
          redis.call('PEXPIRE', KEYS[holder], ARGV[5])
        end
      end
    elseif found[3] then
      redis.call('HSET', ticket, 'state', 4)
      redis.call('HDEL', ticket, 'match')
      redis.call('PEXPIRE', ticket, ARGV[5])
      for holder = key + 1, key + players do
        if redis.call('GET', KEYS[holder]) == id then
          redis.call('DEL', KEYS[holder])
        end
      end
    else
      redis.call('HSET', ticket, 'state', 1)
      redis.call('HDEL', ticket, 'match')
      redis.call('ZADD', KEYS[1], found[2], id)
    end
  end
  key, arg = key + players + 1, arg + 3
end
if ARGV[3] ~= '' and ARGV[6] ~= '0' then
  redis.call('SET', KEYS[5], redis.call('GET', KEYS[3]), 'PX', ARGV[5])
  redis.call('ZADD', KEYS[4], now + tonumber(ARGV[6]), ARGV[2])
end
redis.call('DEL', KEYS[3])
redis.call('ZREM', KEYS[2], ARGV[2])
return 1
