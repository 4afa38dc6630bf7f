-- One observation per request for wrk: POST /v1/instances/{id}/process.
--
-- The instances take turns, and the caller's timestamp grows with every turn, so that no instance
-- is observed too often (interface 8.3). A run goes on in the turn where the last one ended. An
-- instance's next request is a whole turn of 1,000 requests or more away; the run's check of
-- throttled answers proves that no two of them overtook.
--
-- A request is pieces joined: everything up to the body's length (per instance), the observation
-- (101 prepared ones per personality; 101 is coprime to the number of instances, so that every
-- instance meets every observation), the timestamp (formatted once a turn). A keyed one has a fresh
-- UUIDv7 before the length, made as a caller makes it: of the time and at random.

local MODES = {
  'PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION', 'CONNECTION', 'IDENTITY', 'STRESS_RESPONSE',
}
local VARIANTS = 101
local TIME_BYTES = 20 -- 2026-01-01T00:00:00Z

local heads, personalities = {}, {}
local LENGTH = 'Content-Length: '
local instance, variant, number, second, step, ending = 0, 0, 0, 0, 0, ''
local isKeyed = false

-- The observations of an agent that mostly behaves as it is: a signal near its own strength of the
-- mode, and every 20th one far off.
local function observationsOf(strengths)
  local observations = {}
  for v = 0, VARIANTS - 1 do
    local mode = v % #MODES + 1
    local usual = tonumber(strengths[mode])
    local signal = v % 20 == 19 and 1 - usual or usual + (v % 5 - 2) * 0.04
    local body = string.format(
      '{"mode_target":"%s","signal_strength":%.2f,"confidence":%.2f,'
        .. '"context":{"channel":"chat","turn":%d},"timestamp":"',
      MODES[mode], math.min(1, math.max(0, signal)), 0.6 + v % 4 * 0.1, v)
    observations[v + 1] = (#body + TIME_BYTES + 2) .. '\r\n\r\n' .. body
  end
  return observations
end

-- A key that no other request has. The seconds of os.time() are made milliseconds by the counter; a
-- second ahead is still fresh.
local function freshKey()
  number = number + 1
  local ms = os.time() * 1000 + number % 1000
  return string.format('%08x-%04x-7%03x-%04x-%06x%06x',
    math.floor(ms / 65536), ms % 65536, number % 4096, 32768 + math.random(0, 16383),
    math.random(0, 16777215), math.random(0, 16777215))
end

local function endWith(time)
  second = time
  ending = os.date('!%Y-%m-%dT%H:%M:%SZ', second) .. '"}'
end

-- args: file with an instance id and its seven mode strengths a line, API key, timestamp of this
-- turn in Unix seconds, seconds from one turn to the next, number of the first request, "keyed" or
-- nothing
function init(args)
  isKeyed = args[6] == 'keyed'
  local known = {}
  local last = isKeyed and 'Idempotency-Key: ' or LENGTH
  for line in io.lines(args[1]) do
    local id, profile = line:match('^(%S+) (.+)$')
    if known[profile] == nil then
      local strengths = {}
      for strength in profile:gmatch('%S+') do strengths[#strengths + 1] = strength end
      known[profile] = observationsOf(strengths)
    end
    personalities[#personalities + 1] = known[profile]
    heads[#heads + 1] = 'POST /v1/instances/' .. id .. '/process HTTP/1.1\r\nHost: ' .. wrk.host
      .. '\r\nAuthorization: Bearer ' .. args[2]
      .. '\r\nContent-Type: application/json\r\n' .. last
  end
  step = tonumber(args[4])
  number = tonumber(args[5])
  math.randomseed(number)
  instance = number % #heads
  variant = number % VARIANTS
  endWith(tonumber(args[3]))
end

function request()
  local observation = personalities[instance + 1][variant + 1] .. ending
  local head = heads[instance + 1]
  if isKeyed then head = head .. freshKey() .. '\r\n' .. LENGTH end
  instance = (instance + 1) % #heads
  variant = (variant + 1) % VARIANTS
  if instance == 0 then endWith(second + step) end
  return head .. observation
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
