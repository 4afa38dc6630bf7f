-- Decides one call atomically: counts a request in the account's minute and cycles in its month.
-- KEYS: minute counter, month counter. ARGV: minute limit, month limit, cycles, ms until the minute
-- counter expires.
local requests = redis.call('INCR', KEYS[1])
if requests == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
if requests > tonumber(ARGV[1]) then return {0, requests, tonumber(redis.call('GET', KEYS[2]) or 0)} end
local cycles = redis.call('INCRBY', KEYS[2], ARGV[3])
if cycles > tonumber(ARGV[2]) then
  return {0, requests, redis.call('DECRBY', KEYS[2], ARGV[3])}
end
return {1, requests, cycles}
