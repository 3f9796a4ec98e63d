-- confirm, revision 2: scoring has what an outbox entry stands for. A room whose end waited for that may go now, and of
-- one that lives on what nobody needs any more: the log below a version.
-- KEYS  1 outbox  2 refusals  3 room  4 log     ARGV  1 entry id  2 version that the log begins with from now on, 0 to
-- leave it     Reply 1 done, 0 there is no such entry
-- As long as another entry of the room is not confirmed, the log stays whole: a later match may be confirmed first.
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
if settle(KEYS[3], KEYS[4]) and ARGV[2] ~= '0' then
  -- When the room was made is the time of its first entry, as commit.lua writes it: p, m, b, t.
  local first = redis.call('XRANGE', KEYS[4], '1-0', '1-0')[1]
  if first then redis.call('HSET', KEYS[3], 'a', first[2][8]) end
  redis.call('XTRIM', KEYS[4], 'MINID', ARGV[2] .. '-0')
end
return 1
