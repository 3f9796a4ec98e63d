-- return_tickets, revision 1: a match did not begin: the tickets of those who came wait again, the others end.
-- KEYS  1 waiting  2 starts  3 start  then for each ticket: ticket, and the holders of its players
-- ARGV  1 time or nothing  2 match  3 ms that an ended ticket is kept  then for each ticket: id, "1" if it waits again,
--       number of players
-- Reply the number of tickets that wait again; one whose player has asked for another meanwhile does not
local now = moment(ARGV[1])
local key, arg, returned = 4, 4, 0
while key <= #KEYS do
  local ticket, id, comes, players = KEYS[key], ARGV[arg], ARGV[arg + 1] == '1', tonumber(ARGV[arg + 2])
  local found = redis.call('HMGET', ticket, 'match', 'state', 'created')
  if found[1] == ARGV[2] and found[2] == '3' then
    for holder = key + 1, key + players do
      comes = comes and redis.call('GET', KEYS[holder]) == id
    end
    redis.call('HDEL', ticket, 'match', 'room', 'seats')
    if comes then
      returned = returned + 1
      redis.call('HSET', ticket, 'state', 1, 'seen', now)
      redis.call('HINCRBY', ticket, 'failed', 1)
      redis.call('PERSIST', ticket)
      redis.call('ZADD', KEYS[1], found[3], id)
    else
      redis.call('HSET', ticket, 'state', 5)
    end
    for holder = key + 1, key + players do
      if redis.call('GET', KEYS[holder]) == id then
        if comes then
          redis.call('PERSIST', KEYS[holder])
        else
          redis.call('DEL', KEYS[holder])
        end
      end
    end
  end
  key, arg = key + players + 1, arg + 3
end
redis.call('DEL', KEYS[3])
redis.call('ZREM', KEYS[2], ARGV[2])
return returned
