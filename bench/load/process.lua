-- One observation per request for wrk: POST to the path of the server, by default
-- /v1/instances/{id}/process.
--
-- Instances take turns. Timestamps advance with every turn, so that no observation is throttled
-- (interface 8.3). A run continues in the turn where the previous run ended. At least 1,000
-- requests lie between two requests for an instance; the check for throttled answers proves that
-- their order was kept.
--
-- A request consists of prepared pieces: the head of the instance, up to the body length; an
-- observation; the timestamp, formatted once per turn. Each personality has 101 prepared
-- observations. 101 is coprime to the number of instances, so that every instance receives every
-- observation. A keyed request has a fresh idempotency key before the length: a UUIDv7 from time
-- and random bits, as clients create.

local MODES = {
  'PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION', 'CONNECTION', 'IDENTITY', 'STRESS_RESPONSE',
}
local VARIANTS = 101
local TIME_BYTES = 20 -- 2026-01-01T00:00:00Z

local heads, personalities = {}, {}
local LENGTH = 'Content-Length: '
local instance, variant, number, second, step, ending = 0, 0, 0, 0, 0, ''
local isKeyed = false

-- Observations of an agent that mostly behaves as usual: signals near its strength in the mode, but
-- every 20th signal far off.
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

-- Returns a unique idempotency key. os.time() returns seconds; the counter adds milliseconds. The
-- service accepts a key whose time is up to 1 s ahead.
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

-- args: file with an instance id and seven mode strengths per line, API key, timestamp of this turn
-- in Unix seconds, seconds per turn, number of the first request, path with {id}, "keyed" or
-- nothing
function init(args)
  local pathStart, pathEnd = args[6]:match('^(.*){id}(.*)$')
  isKeyed = args[7] == 'keyed'
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
    heads[#heads + 1] = 'POST ' .. pathStart .. id .. pathEnd .. ' HTTP/1.1\r\nHost: ' .. wrk.host
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

-- Prints the result line for wrk.ts. os.clock() is the CPU time of the whole process in seconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"answered":%d,"micros":%d,"badStatus":%d,"socketErrors":%d,'
      .. '"p50Micros":%d,"p99Micros":%d,"cpuSeconds":%.3f}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), os.clock()))
end
