-- Writes one observation atomically, unless the instance has another version or the key has an
-- answer. Returns 1 if written, otherwise 0.
-- KEYS: instance, history, and with an idempotency key its answer.
-- ARGV: expected version, next version, time in ms, model, history row; with a key the answer and
-- its lifetime in s.
local isKeyed = #KEYS == 3
if isKeyed and redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'observed_at_ms', ARGV[3], 'model', ARGV[4])
redis.call('RPUSH', KEYS[2], ARGV[5])
if isKeyed then redis.call('SET', KEYS[3], ARGV[6], 'EX', ARGV[7]) end
return 1
