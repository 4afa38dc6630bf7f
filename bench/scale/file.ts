import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Child } from '#bench/child';
import { freePorts } from '#bench/free-ports';
import { unflushedRecords } from '#bench/gauges';
import { untilReady } from '#bench/readiness';
import { ObservedInstances } from '#bench/scale/observed-instances';
import { atMost, figure, type ScalePart } from '#bench/scale/scale-part';
import { createKey, metricsUrlOf, startRole } from '#bench/service';
import { mebibytes } from '#bench/statistics';
import { temporaryFolder } from '#bench/temporary-folder';
import { UNFLUSHED_RECORDS_MAX } from '#runtime/bounds';

const INSTANCES = 5_000;
const INSTANCES_QUICK = 200;

/** Records of which the bound of the tail is made: a little less, or the service refuses the last. */
const TAIL = UNFLUSHED_RECORDS_MAX - 2_000;
const TAIL_QUICK = 2_000;

/** What a tail may add to a start, in ms: this, and a second for each 200,000 records. The target. */
const TAKEN_OVER_MS_MAX = 300;
const MS_PER_RECORD = 1_000 / 200_000;

/** Keeps the service from storing, so that its tail grows as long as is wanted. */
const KEPT = ['--import', import.meta.resolve('./never-stored.ts')];

/** How soon the process of a file answers again after a SIGKILL, by what it had not stored. */
export const file: ScalePart = {
  name: 'file',
  title: 'The process of a file is killed',
  async measure({ isQuick, print }) {
    const count = isQuick ? INSTANCES_QUICK : INSTANCES;
    const tail = isQuick ? TAIL_QUICK : TAIL;
    await using file = await fileService();
    await file.start(KEPT);
    using instances = new ObservedInstances(await file.service(), print);
    await instances.create(count);
    const all = Array.from({ length: count }, (_, i) => i);
    for (let made = count; made < tail; made += count) await instances.observeEach(all);
    const unflushed = await unflushedRecords([file.metricsUrl]);
    const walBytes = statSync(`${file.path}-wal`).size;
    const bytes = statSync(file.path).size;
    await file.kill();
    print(`killed with ${unflushed} records that are not stored`);
    const killedMs = await firstAnswer(file, instances);
    await instances.prove(all);
    await file.stop();
    // The same start with nothing to take over: what the tail has added is the difference.
    const stoppedMs = await firstAnswer(file, instances);
    const mostMs = TAKEN_OVER_MS_MAX + unflushed * MS_PER_RECORD;
    return [
      figure('records not stored', unflushed.toLocaleString('en')),
      figure('file and its WAL then', mebibytes(bytes + walBytes)),
      figure('after SIGTERM: start to first answer', `${stoppedMs.toFixed(0)} ms`),
      figure('after SIGKILL: start to first answer', `${killedMs.toFixed(0)} ms`),
      atMost('what the tail has added', killedMs - stoppedMs, mostMs, 'ms'),
    ];
  },
};

type FileService = Awaited<ReturnType<typeof fileService>>;

/** From the start of the process to the answer to an observation. */
async function firstAnswer(file: FileService, instances: ObservedInstances): Promise<number> {
  const startedMs = performance.now();
  await file.start();
  await instances.observe(0);
  return performance.now() - startedMs;
}

/** A file, and the process that serves it at ports that stay. */
async function fileService() {
  const [api = 0, admin = 0, metrics = 0] = await freePorts(3);
  const path = join(temporaryFolder(), 'identity-engine.db');
  const variables = {
    ...{ SERVICE_STORAGE: 'sqlite', SERVICE_SQLITE_FILE: path, SERVICE_CONSOLE_ENABLED: 'false' },
    ...{ SERVICE_PORT: `${api}`, SERVICE_ADMIN_PORT: `${admin}` },
  };
  const metricsUrl = metricsUrlOf(metrics);
  let child: Child | undefined;
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    child?.kill(signal);
    await child?.ended();
    child = undefined;
  };
  return {
    path,
    metricsUrl,
    async start(nodeArgs: readonly string[] = []) {
      child = startRole('standalone', metrics, variables, { nodeArgs });
      await untilReady(child, `${metricsUrl}/health/ready`);
    },
    /** The service with the key of a new account. */
    async service() {
      const key = await createKey(admin);
      const address = `http://127.0.0.1:${api}`;
      return {
        address,
        key,
        metricsUrls: [metricsUrl],
        processes: [],
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    [Symbol.asyncDispose]: () => end('SIGTERM'),
  };
}
