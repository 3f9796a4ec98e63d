-- due_claims, revision 2: take over claims whose lease has ended, or matches that have to be looked at; whoever asks next
-- finds them leased again.
-- KEYS  1 claims or starts     ARGV  1 time or nothing  2 lease in ms  3 at most     Reply {end of the new lease, match, ...}
local now = moment(ARGV[1])
local reply = {now + tonumber(ARGV[2])}
for _, match in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[3])) do
  redis.call('ZADD', KEYS[1], reply[1], match)
  reply[#reply + 1] = match
end
return reply
