-- One observation per request for wrk: POST /v1/instances/{id}/process.
--
-- The instances take turns, and the caller's timestamp grows by one second with every turn, so that
-- each instance sees its observations at least 1 s apart (spec 8.3). An instance's next request is
-- a whole turn of about 1,000 requests away; the run's check of throttled answers proves that no
-- two of them overtook each other.
--
-- A request is three pieces joined: everything up to the body's length (per instance), the
-- observation (101 prepared ones; 101 is coprime to the number of instances, so that every
-- instance meets every observation), the timestamp (formatted once a turn).

local MODES = {
  'PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION', 'CONNECTION', 'IDENTITY', 'STRESS_RESPONSE',
}
local VARIANTS = 101
local TIME_BYTES = 20 -- 2026-01-01T00:00:00Z

local heads, observations = {}, {}
local instance, variant, second, ending = 0, 0, 0, ''

-- args: file with one instance id a line, API key, first timestamp in Unix seconds
function init(args)
  for id in io.lines(args[1]) do
    heads[#heads + 1] = 'POST /v1/instances/' .. id .. '/process HTTP/1.1\r\nHost: ' .. wrk.host
      .. '\r\nAuthorization: Bearer ' .. args[2]
      .. '\r\nContent-Type: application/json\r\nContent-Length: '
  end
  for v = 0, VARIANTS - 1 do
    local body = string.format(
      '{"mode_target":"%s","signal_strength":%.2f,"confidence":%.2f,'
        .. '"context":{"channel":"chat","turn":%d},"timestamp":"',
      MODES[v % #MODES + 1], 0.3 + v % 5 * 0.07, 0.6 + v % 4 * 0.1, v)
    observations[#observations + 1] = (#body + TIME_BYTES + 2) .. '\r\n\r\n' .. body
  end
  second = tonumber(args[3]) - 1
end

function request()
  if instance == 0 then
    second = second + 1
    ending = os.date('!%Y-%m-%dT%H:%M:%SZ', second) .. '"}'
  end
  local text = heads[instance + 1] .. observations[variant + 1] .. ending
  instance = (instance + 1) % #heads
  variant = (variant + 1) % VARIANTS
  return text
end

-- One line that the benchmark reads. os.clock() is the CPU time of the whole process in seconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"answered":%d,"micros":%d,"badStatus":%d,"socketErrors":%d,'
      .. '"p50Micros":%d,"p99Micros":%d,"cpuSeconds":%.3f}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), os.clock()))
end
