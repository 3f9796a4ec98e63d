-- rotate_session, revision 1: exchange the refresh token of a session for the next one; each works once.
-- KEYS  1 session  2 profile     ARGV  1 hash shown  2 hash of the next  3 lifetime in ms
-- Reply 1 and the session and the player live on, or 0 and nothing has changed
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
