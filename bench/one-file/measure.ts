import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseApiKey } from '#accounts/api-key';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { type FileLook, FileWatch } from '#bench/one-file/file-watch';
import { type FilledSizes, fillFile } from '#bench/one-file/fill';
import { observationsOf } from '#bench/one-file/histories';
import { fileBytes } from '#bench/processes/file-service';
import { firstAnswerMs, RestartedService } from '#bench/processes/restarted-service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { highestBytes } from '#bench/scale/memory-stage';
import { timed } from '#bench/scale/rates/latencies';
import { SteadyObservers } from '#bench/scale/rates/steady-observers';
import { seededId } from '#bench/scale/seed';

/** Rows per history page: the API's default. */
const LIMIT = 100;

/**
 * Reads a history page of each instance, sequentially. Returns the latencies in ms. Throws if the
 * rows of a page are unexpected.
 */
async function readPages(
  caller: HttpCaller,
  indexes: readonly number[],
  offset = 0,
): Promise<number[]> {
  const times: number[] = [];
  for (const index of indexes) {
    const path = `/v1/instances/${seededId(index)}/history?limit=${LIMIT}&offset=${offset}`;
    const { ms, answer } = await timed(() => caller.send({ method: 'GET', path }));
    times.push(ms);
    check(answer, observationsOf(index), offset);
  }
  return times;
}

/** Throws unless the page has the expected rows, newest first. */
function check(answer: unknown, total: number, offset: number): void {
  const rows = at(answer, ['data']);
  const cycles = Array.isArray(rows) ? rows.map((row) => at(row, ['cycle'])) : [];
  const expected = Array.from({ length: Math.min(LIMIT, total - offset) }, (_, i) => {
    return total - offset - i;
  });
  if (cycles.join() === expected.join()) return;
  throw new Error(`expected ${expected.length} rows from offset ${offset}, got cycles ${cycles}`);
}

/** Sizes of a run. */
export type Sizes = {
  readonly instances: number;
  /** Rate of the steady load, in observations per second. */
  readonly rate: number;
  /** Duration of the steady load. */
  readonly seconds: number;
  /** Number of history pages to read of each kind: cold, warm, deep. */
  readonly pages: number;
};

/** The service on the file, and an API key of the account that owns the instances. */
type Served = { readonly service: RestartedService; readonly key: string };

/** Number of starts with a warm page cache, and of starts with a cold page cache. */
const STARTS = 3;

/** Time between two observations of an instance under the steady load, in seconds. */
const OBSERVED_EVERY_S = 100;

/** Duration of the load before history pages are read, in seconds. Warms up Node's JIT compiler. */
const WARM_UP_S = 10;

/** Latencies of reading history pages, in ms. */
type Pages = {
  /** Pages of instances that are not in memory. */
  cold: readonly number[];
  /** The same pages again. */
  warm: readonly number[];
  /** Pages whose rows are all in chunks. */
  deep: readonly number[];
};

/** Measurements under the steady load. */
type UnderLoad = Readonly<Pages> & {
  /** State of the file, read periodically. */
  readonly looks: readonly FileLook[];
  /** Observation latencies, in ms. */
  readonly observed: readonly number[];
  /** Peak resident size of the service. */
  readonly highestBytes: number;
};

/** Results of a run. */
export type OneFileFindings = {
  readonly sizes: Sizes;
  readonly observations: number;
  readonly filled: FilledSizes;
  /** Times from start to first answer in ms, with a cold page cache. */
  readonly coldStarts: readonly number[];
  /** Times from start to first answer in ms, with a warm page cache. */
  readonly warmStarts: readonly number[];
  readonly load: UnderLoad;
  /** Number of records without a checkpoint when the service was killed. */
  readonly killedWith: number;
  /** Time from the start after the kill to the first answer, in ms. */
  readonly killedStart: number;
  /**
   * Times of two reads of the first page of the instance list, in ms, the first right after a start.
   */
  readonly listings: readonly number[];
  /** Duration of the clean stop at the end of the run, in ms. */
  readonly endMs: number;
  readonly bytesByTable: ReadonlyMap<string, number>;
};

/** Fills a file, starts the service on the file, and measures. `print` receives progress lines. */
export async function measureOneFile(
  sizes: Sizes,
  print: (line: string) => void,
): Promise<OneFileFindings> {
  const folder = temporaryFolder();
  const file = join(folder, 'service.db');
  await using service = await RestartedService.on(file);
  await service.start();
  const key = await service.createKey();
  await service.end('SIGTERM');
  const accountId = parseApiKey(key)?.accountId ?? '';
  const filled = await fillFile({ file, accountId, instances: sizes.instances, print });
  const served = { service, key };
  const start = async (isUncached: boolean) => {
    if (isUncached) dropFromPageCache(file);
    const ms = await firstAnswerMs(service, () => observeAny(served, sizes));
    print(`${ms.toFixed(0)} ms to the first answer`);
    return ms;
  };
  const startAndEnd = async (isUncached: boolean) => {
    const ms = await start(isUncached);
    await service.end('SIGTERM');
    return ms;
  };
  const warmStarts = await repeated(STARTS, () => startAndEnd(false));
  const coldStarts = await repeated(STARTS, () => startAndEnd(true));
  await start(true);
  const load = await underLoad(served, sizes, print);
  await service.end('SIGKILL');
  const killedWith = load.looks.at(-1)?.unflushed ?? Number.NaN;
  print(`killed with ${killedWith} records without a checkpoint`);
  const killedStart = await start(false);
  const listings = await listingPages(served, print);
  const { ms: endMs } = await timed(() => service.end('SIGTERM'));
  print(`stopped in ${endMs.toFixed(0)} ms`);
  const bytesByTable = fileBytes(file);
  const starts = { warmStarts, coldStarts, killedWith, killedStart, listings, endMs };
  const observations = sumTo(sizes.instances);
  return { sizes, observations, filled, load, ...starts, bytesByTable };
}

/** Sends the steady load for the run's duration and reads history pages meanwhile. */
async function underLoad(
  { service, key }: Served,
  sizes: Sizes,
  print: (line: string) => void,
): Promise<UnderLoad> {
  const { address, file, metricsUrls } = service;
  const { rate, seconds, pages, instances } = sizes;
  const ids = Array.from({ length: observedCount(sizes) }, (_, index) => seededId(index));
  using observers = new SteadyObservers({ address, key }, { ids, perSecond: rate });
  using caller = new HttpCaller(address, key);
  using watch = new FileWatch(file, metricsUrls);
  const endsMs = performance.now() + 1_000 * seconds;
  const found: Pages = { cold: [], warm: [], deep: [] };
  const { times, failed } = await observers.during(async () => {
    await sleep(1_000 * WARM_UP_S);
    print('reading pages of instances that are not in memory');
    const others = randomIndexes(pages, ids.length, instances);
    found.cold = await readPages(caller, others);
    print('reading the same pages again, then pages of chunks');
    found.warm = await readPages(caller, others);
    const long = others.map((index) => index - (index % 100) + 99);
    found.deep = await readPages(caller, long, 150);
    print('observing until the end of the load');
    await sleep(Math.max(0, endsMs - performance.now()));
  });
  if (failed > 0) throw new Error(`${failed} observations failed`);
  const { looks } = watch;
  return { looks, observed: times, ...found, highestBytes: await highestBytes(service.pid) };
}

/** Reads the first page of the instance list twice. */
async function listingPages(
  { service, key }: Served,
  print: (line: string) => void,
): Promise<number[]> {
  using caller = new HttpCaller(service.address, key);
  const call = { method: 'GET', path: '/v1/instances?limit=20' } as const;
  return await repeated(2, async () => {
    const { ms } = await timed(() => caller.send(call));
    print(`${ms.toFixed(0)} ms for the first page of the list`);
    return ms;
  });
}

/** Writes dirty pages to disk and drops a file from the page cache, so that reads use the disk. */
function dropFromPageCache(file: string): void {
  execFileSync('sync');
  execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}

/** Sends an observation to a random instance among those of the steady load. */
async function observeAny({ service, key }: Served, sizes: Sizes): Promise<void> {
  const [index = 0] = randomIndexes(1, 0, observedCount(sizes));
  using caller = new HttpCaller(service.address, key);
  const body = '{"mode_target":"ORDER","signal_strength":0.6}';
  await caller.send({ method: 'POST', path: `/v1/instances/${seededId(index)}/process`, body });
}

/**
 * Number of instances that the steady load observes. They have the lowest indexes; page reads use
 * the other instances.
 */
function observedCount({ rate, instances }: Sizes): number {
  return Math.min(rate * OBSERVED_EVERY_S, instances / 2);
}

function randomIndexes(count: number, from: number, end: number): number[] {
  const chosen = new Set<number>();
  while (chosen.size < count) chosen.add(Math.floor(from + Math.random() * (end - from)));
  return [...chosen];
}

async function repeated<Result>(times: number, measure: () => Promise<Result>): Promise<Result[]> {
  const found: Result[] = [];
  while (found.length < times) found.push(await measure());
  return found;
}

function sumTo(instances: number): number {
  let sum = 0;
  for (let index = 0; index < instances; index += 1) sum += observationsOf(index);
  return sum;
}
