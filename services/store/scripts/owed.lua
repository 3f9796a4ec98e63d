local function settle(room, log)
  -- The room waits for one outbox entry less; true if it waits for none any more. Then it may go, if its end waited for
  -- that.
  local owed, lifetime = unpack(redis.call('HMGET', room, 'o', 'x'))
  if not owed or redis.call('HINCRBY', room, 'o', -1) > 0 then return false end
  redis.call('HDEL', room, 'o')
  if lifetime then
    redis.call('PEXPIRE', room, lifetime)
    redis.call('PEXPIRE', log, lifetime)
  end
  return true
end
