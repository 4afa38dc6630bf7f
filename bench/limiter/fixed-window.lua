-- One decision, atomic: a request of the account's minute, and cycles of its month.
-- KEYS: count of the minute, count of the month. ARGV: both limits, cycles, ms until the minute's key goes.
local requests = redis.call('INCR', KEYS[1])
if requests == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
if requests > tonumber(ARGV[1]) then return {0, requests, tonumber(redis.call('GET', KEYS[2]) or 0)} end
local cycles = redis.call('INCRBY', KEYS[2], ARGV[3])
if cycles > tonumber(ARGV[2]) then
  return {0, requests, redis.call('DECRBY', KEYS[2], ARGV[3])}
end
return {1, requests, cycles}
