import { randomUUID } from 'node:crypto';
import { ratioFigure } from '#bench/page/comparison';
import type { Figure, Findings, Part } from '#bench/page/part';
import { startStandalone } from '#bench/processes/service';
import { IdentityEngine, ObservationBuffer } from '#clients/typescript/src/identity-engine';

/** Calls in flight. */
const CALLS_IN_FLIGHT = 64;

/** Maximum ratio of the times per call: client divided by bare `fetch`. */
const OVERHEAD_MAX = 1.3;

/** Minimum ratio of observations per second: buffer divided by single calls. */
const BUFFER_GAIN_MIN = 5;

/** Age of the first timestamp in ms. Later timestamps are 1 s apart and never reach the future. */
const PAST_MS = 60 * 86_400_000;

const FULL = { pairs: 12, runMs: 2_000, warmUpMs: 3_000 };
const QUICK = { pairs: 2, runMs: 500, warmUpMs: 1_500 };

/** Makes one call for a concurrent worker. */
type Make = (worker: number) => Promise<void>;

/** Result of a run: calls per second, and this process's CPU time per call in µs. */
type Rate = { readonly perS: number; readonly cpuMicros: number };

/** Instances with the timestamp of their last observation. */
class Fleet {
  readonly ids: string[] = [];
  readonly #timesMs: number[] = [];
  readonly #startMs = Date.now() - PAST_MS;

  async fill(client: IdentityEngine): Promise<void> {
    for (let count = 0; count < CALLS_IN_FLIGHT; count += 1) {
      this.ids.push((await client.instances.create({ name: `agent ${count}` })).data.id);
      this.#timesMs.push(this.#startMs);
    }
  }

  id(worker: number): string {
    return this.ids[worker] ?? '';
  }

  /** The next observation of an instance. */
  observation(worker: number) {
    const ms = (this.#timesMs[worker] ?? 0) + 1_000;
    this.#timesMs[worker] = ms;
    const timestamp = new Date(ms).toISOString();
    return { mode_target: 'ORDER' as const, signal_strength: 0.5, timestamp };
  }
}

/** Makes calls for `ms` milliseconds with `CALLS_IN_FLIGHT` workers. */
async function run(make: Make, ms: number): Promise<Rate> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  let calls = 0;
  const worker = async (_: unknown, number: number) => {
    while (performance.now() - startedMs < ms) {
      await make(number);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, worker));
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { perS: calls / seconds, cpuMicros: (user + system) / calls };
}

/**
 * Ratios of `own` to `bare` in alternating runs: time per call, and this process's CPU per call.
 */
async function ratiosOf(
  own: Make,
  bare: Make,
  { pairs, runMs, warmUpMs }: typeof FULL,
): Promise<{ readonly time: number[]; readonly cpu: number[] }> {
  const [time, cpu]: [number[], number[]] = [[], []];
  for (const make of [own, bare]) await run(make, warmUpMs);
  for (let pair = 0; pair < pairs; pair += 1) {
    const order = pair % 2 === 0 ? [own, bare] : [bare, own];
    const rates = new Map<Make, Rate>();
    for (const make of order) rates.set(make, await run(make, runMs));
    const [ownRate, bareRate] = [rates.get(own), rates.get(bare)];
    time.push((bareRate?.perS ?? 0) / (ownRate?.perS ?? 0));
    cpu.push((ownRate?.cpuMicros ?? 0) / (bareRate?.cpuMicros ?? 0));
  }
  return { time, cpu };
}

/** Makes the calls of `clientCalls` with a bare `fetch`. */
function bareCalls(base: string, key: string, fleet: Fleet): { snapshot: Make; process: Make } {
  const authorization = `Bearer ${key}`;
  const read = async (response: Response) => {
    if (!response.ok) throw new Error(`status ${response.status}`);
    await response.json();
  };
  return {
    async snapshot(worker) {
      const headers = { authorization };
      await read(await fetch(`${base}/instances/${fleet.id(worker)}/snapshot`, { headers }));
    },
    async process(worker) {
      const headers = {
        ...{ authorization, 'content-type': 'application/json' },
        'idempotency-key': randomUUID(),
      };
      const body = JSON.stringify(fleet.observation(worker));
      const init = { method: 'POST', headers, body };
      await read(await fetch(`${base}/instances/${fleet.id(worker)}/process`, init));
    },
  };
}

function clientCalls(client: IdentityEngine, fleet: Fleet): { snapshot: Make; process: Make } {
  const instances = fleet.ids.map((id) => client.instance(id));
  return {
    snapshot: async (worker) => void (await instances[worker]?.snapshot()),
    process: async (worker) => void (await instances[worker]?.process(fleet.observation(worker))),
  };
}

/** Observations per second through a buffer, added by `CALLS_IN_FLIGHT` workers. */
async function bufferRate(client: IdentityEngine, fleet: Fleet, ms: number): Promise<number> {
  const buffer = new ObservationBuffer(client);
  const startedMs = performance.now();
  await run((worker) => buffer.add(fleet.id(worker), fleet.observation(worker)), ms);
  const { acknowledged, rejectedCount, unacknowledged } = await buffer.close();
  const lost = rejectedCount + unacknowledged.length;
  if (lost > 0) throw new Error(`the service did not acknowledge ${lost} buffered observations`);
  return acknowledged / ((performance.now() - startedMs) / 1_000);
}

async function measured(sizes: typeof FULL): Promise<Findings> {
  await using service = await startStandalone();
  const base = `${service.address}/v1`;
  const client = new IdentityEngine({ apiKey: service.key, baseUrl: base });
  const fleet = new Fleet();
  await fleet.fill(client);
  const [bare, own] = [bareCalls(base, service.key, fleet), clientCalls(client, fleet)];
  const figures: Figure[] = [];
  for (const name of ['snapshot', 'process'] as const) {
    const { time, cpu } = await ratiosOf(own[name], bare[name], sizes);
    const what = `client / bare \`fetch\`, ${name}`;
    figures.push(ratioFigure(`${what}: time per call`, time, { most: OVERHEAD_MAX }));
    figures.push(ratioFigure(`${what}: CPU of the caller`, cpu, {}));
  }
  const gains: number[] = [];
  for (let pair = 0; pair < sizes.pairs; pair += 1) {
    const single = await run(own.process, sizes.runMs);
    gains.push((await bufferRate(client, fleet, sizes.runMs)) / single.perS);
  }
  figures.push(
    ratioFigure('buffer / single calls, observations/s', gains, { least: BUFFER_GAIN_MIN }),
  );
  return { figures };
}

/** Overhead of the TypeScript client over a bare `fetch`, and gain of its buffer. */
export const client: Part = {
  name: 'client',
  group: 'features',
  isLong: true,
  title: 'TypeScript client',
  about:
    `A process keeps ${CALLS_IN_FLIGHT} calls to a standalone service in flight. A ratio is the ` +
    'value of calls through the client, divided by the value of bare `fetch` calls with the same ' +
    "key, body and parsing. The last row divides observations through the client's buffer by " +
    'observations in single calls. A cell has the quartiles of the pairs.',
  measure: ({ isQuick }) => measured(isQuick ? QUICK : FULL),
};
