import { readFileSync } from 'node:fs';
import { Agent, METHODS, request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import { METRICS } from '#telemetry/metrics';
import { SeededRandom } from '#test/simulation/seeded-random';
import { newCaller } from '#test/support/calls/caller';
import { metricValues } from '#test/support/metric-values';
import { type Service, startStandalone } from '#test/support/servers/service';
import { isDocumented } from '#test/telemetry/documented-labels';

/**
 * Maximum number of series per process under any traffic (docs/metrics.md). The traffic in this
 * file creates about a third of this number.
 */
const SERIES_MAX = 4_200;

/** Number of requests in each of the two floods. */
const REQUESTS = 3_000;
/** Number of concurrent requests. */
const CONCURRENCY = 32;

/** CONNECT is only useful for a proxy. */
const SENT_METHODS = METHODS.filter((method) => method !== 'CONNECT');

const DOCUMENT = readFileSync('docs/metrics.md', 'utf8');

const flooded = suite('when thousands of random requests have arrived');

let service: Service;
let before: ReadonlyMap<string, number>;
let first: ReadonlyMap<string, number>;
let second: ReadonlyMap<string, number>;
flooded.before(async () => {
  service = await startStandalone();
  before = await metricValues(service);
  const random = new SeededRandom(19);
  await flood(random);
  first = await metricValues(service);
  await flood(random);
  second = await metricValues(service);
});
flooded.after(async () => service[Symbol.asyncDispose]());

flooded('most requests are counted, on many routes and with many statuses', () => {
  const counted = [...second].filter(([name]) =>
    name.startsWith('http_server_request_duration_seconds_count'),
  );
  const sum = counted.reduce((total, [, count]) => total + count, 0);
  assert.ok(sum > 1.5 * REQUESTS, `${sum} of ${2 * REQUESTS}`);
  assert.ok(first.size > before.size + 300, 'the flood reached many routes and statuses');
});

flooded(`a process has no more than ${SERIES_MAX} series`, () => {
  assert.ok(second.size <= SERIES_MAX, `${second.size} series`);
  const stated = `at most ${SERIES_MAX.toLocaleString('en')} series`;
  assert.ok(DOCUMENT.includes(stated), `docs/metrics.md must contain "${stated}"`);
});

flooded('the second flood adds few series', () => {
  const added = [...second.keys()].filter((name) => !first.has(name));
  // A rare status of a route adds 15 series.
  assert.ok(added.length <= 0.1 * first.size, added.join('\n'));
});

flooded('labels have only values documented in docs/metrics.md', () => {
  for (const series of second.keys()) {
    const [family = ''] = series.split('{');
    const metric = family.replace(/_(?:bucket|sum|count)$/, '');
    // The metrics library documents the metrics that are not in METRICS.
    if (!Object.hasOwn(METRICS, metric)) continue;
    for (const [, label = '', value = ''] of series.matchAll(/(\w+)="([^"]*)"/g)) {
      if (label !== 'le') assert.ok(isDocumented(metric, label, value), series);
    }
  }
});

/** Sends requests with a valid key, a wrong key and without a key. */
async function flood(random: SeededRandom): Promise<void> {
  const caller = await newCaller(service);
  const poor = await newCaller(service, { plan: 'free' });
  const keys = [caller.key, caller.key, caller.key, poor.key, ''];
  const { body } = await caller.send('POST', '/instances', { json: { name: 'Ada' } });
  using agent = disposable(new Agent({ keepAlive: true, maxSockets: CONCURRENCY }));
  let left = REQUESTS;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const key = random.pick(keys) || word(random);
      await sendOne(agent.agent, random, key, body.data.id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
}

function disposable(agent: Agent) {
  return { agent, [Symbol.dispose]: () => agent.destroy() };
}

async function sendOne(agent: Agent, random: SeededRandom, key: string, id: string): Promise<void> {
  const isRouted = random.happens(0.7);
  const endpoint = random.pick(ENDPOINTS);
  const named = endpoint.path.replace(':id', random.happens(0.5) ? id : word(random));
  const path = isRouted ? `/v1${named}` : `/${random.pick(['v1/', ''])}${word(random)}`;
  const method = random.happens(0.5) ? endpoint.method : random.pick(SENT_METHODS);
  const query = random.happens(0.3) ? `?${word(random)}=${word(random)}` : '';
  const text = random.happens(0.6)
    ? JSON.stringify({ [word(random)]: word(random) })
    : word(random);
  const type = random.pick(['application/json', 'text/plain', 'x/y']);
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': type,
    'x-request-id': word(random),
  };
  const target = new URL(service.origin);
  const sent = request({
    host: target.hostname,
    port: target.port,
    agent,
    method,
    path: path + query,
    headers,
  });
  sent.end(method === 'GET' || method === 'HEAD' ? undefined : text);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  // The answer does not matter, because only the service's counters are tested.
  sent.on('response', (answer) => {
    answer.on('error', () => undefined).resume();
    // An event stream would not end before its instance is deleted.
    if (answer.headers['content-type']?.startsWith('text/event-stream')) sent.destroy();
  });
  sent.on('upgrade', (_, socket) => socket.destroy());
  sent.on('error', () => undefined).on('close', resolve);
  await closed;
}

/** A random word of 1 to 20 letters and digits. */
function word(random: SeededRandom): string {
  return random.uint32().toString(36).repeat(3).slice(0, random.whole(1, 20));
}

flooded.run();
