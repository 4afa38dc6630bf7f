import { join } from 'node:path';
import { type Figure, figure, type Part } from '#bench/page/part';
import { startOnFile } from '#bench/processes/file-service';
import { type AdministeredService, createKey, startStandalone } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { latenciesOf, latenciesText, timed } from '#bench/scale/rates/latencies';

/** Observations in a batch: the maximum. */
const BATCH = 100;

/** Maximum p99 of a read of 200 stored states, in milliseconds. */
const POINTS_P99_MS_MAX = 50;

const FULL = { cycles: 100_000, reads: 1_000 };
const QUICK = { cycles: 10_000, reads: 100 };

/** A caller of a service. */
type Caller = { readonly address: string; readonly key: string };

async function call({ address, key }: Caller, path: string, body?: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`${address}/v1${path}`, { headers, ...init });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return await answer.json();
}

async function created(caller: Caller): Promise<string> {
  const { data } = (await call(caller, '/instances', { name: 'past' })) as {
    readonly data: { readonly id: string };
  };
  return data.id;
}

/** Creates an instance with `cycles` cycles, and returns its id. */
async function lived(caller: Caller, cycles: number): Promise<string> {
  const id = await created(caller);
  const modes = ['ORDER', 'STRESS_RESPONSE', 'EXPLORATION', 'ASSERTION'];
  for (let done = 0; done < cycles; done += BATCH) {
    const observations = Array.from({ length: BATCH }, (_, index) => {
      const at = done + index;
      const timestamp = new Date(1_700_000_000_000 + at * 60_000).toISOString();
      const signal_strength = (at % 11) / 10;
      return { mode_target: modes[at % 4], signal_strength, timestamp, context: { turn: at } };
    });
    await call(caller, `/instances/${id}/process/batch`, { observations });
  }
  return id;
}

/** Times of sequential reads, in milliseconds. */
async function timesOf(count: number, read: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) times.push((await timed(read)).ms);
  return times;
}

/** Runs `read` again and again until `work` is done. */
async function beside<Answer>(read: () => Promise<unknown>, work: () => Promise<Answer>) {
  let isOver = false;
  const reading = (async () => {
    while (!isOver) await read();
  })();
  const answer = await work();
  isOver = true;
  await reading;
  return answer;
}

async function figuresOf(
  name: string,
  caller: Caller,
  other: Caller,
  id: string,
  size: typeof FULL,
): Promise<Figure[]> {
  const otherId = await created(other);
  const points = () => call(caller, `/instances/${id}/states?points=200`);
  const exact = () => {
    const cycles = Array.from({ length: 10 }, () => Math.floor(Math.random() * size.cycles));
    return call(caller, `/instances/${id}/states?cycles=${cycles.join()}`);
  };
  const snapshot = () => call(other, `/instances/${otherId}/snapshot`);
  // The first reads warm the process up.
  await timesOf(50, points);
  await timesOf(50, exact);
  const ofPoints = await timesOf(size.reads, points);
  const rows = [
    ['cycles=, 10 random cycles', await timesOf(size.reads, exact)],
    ['snapshot of another account, alone', await timesOf(size.reads, snapshot)],
    [
      'snapshot of another account, beside cycles=',
      await beside(exact, () => timesOf(size.reads, snapshot)),
    ],
  ] as const;
  const points200 = latenciesOf(ofPoints);
  return [
    {
      what: `${name}, points=200: p50, p99, longest`,
      target: `p99 ≤ ${POINTS_P99_MS_MAX} ms`,
      reached: `${latenciesText(points200)} ms`,
      isMet: points200.p99 <= POINTS_P99_MS_MAX,
    },
    ...rows.map(([what, times]) =>
      figure(`${name}, ${what}: p50, p99, longest`, `${latenciesText(latenciesOf(times))} ms`),
    ),
  ];
}

async function callersOf({ address, adminPort }: AdministeredService) {
  const keys = [await createKey(adminPort), await createKey(adminPort)];
  return keys.map((key) => ({ address, key }));
}

async function inMemory(size: typeof FULL): Promise<Figure[]> {
  await using service = await startStandalone();
  const [caller, other] = await callersOf(service);
  if (caller === undefined || other === undefined) throw new Error('there are no keys');
  const id = await lived(caller, size.cycles);
  return await figuresOf('in memory', caller, other, id, size);
}

/** The service restarts after the observations, so that all states and rows are in the file. */
async function onFile(size: typeof FULL): Promise<Figure[]> {
  const file = join(temporaryFolder(), 'past.db');
  let id = '';
  let keys: string[] = [];
  {
    await using service = await startOnFile(file);
    const [caller, other] = await callersOf(service);
    if (caller === undefined || other === undefined) throw new Error('there are no keys');
    id = await lived(caller, size.cycles);
    keys = [caller.key, other.key];
  }
  await using service = await startOnFile(file);
  const { address } = service;
  const [caller, other] = keys.map((key) => ({ address, key }));
  if (caller === undefined || other === undefined) throw new Error('there are no keys');
  return await figuresOf('in a SQLite file', caller, other, id, size);
}

/**
 * Latency of past states of an instance with 100,000 cycles: stored states in even steps, and exact
 * cycles, and latency of another account beside the exact cycles.
 */
export const past: Part = {
  name: 'past',
  group: 'features',
  title: 'Past states of an instance',
  about:
    `An instance has ${FULL.cycles.toLocaleString('en')} cycles. Reads follow one another. The file ` +
    'is closed and opened again before the reads. Times are from request to answer.',
  async measure({ isQuick }) {
    const size = isQuick ? QUICK : FULL;
    return { figures: [...(await inMemory(size)), ...(await onFile(size))] };
  },
};
