import { statSync } from 'node:fs';
import { join } from 'node:path';
import { UNFLUSHED_RECORDS_MAX } from '#actor-runtime/actor-bounds';
import { unflushedRecords } from '#bench/measures/gauges';
import { mebibytes } from '#bench/measures/statistics';
import { atMost, figure, type Part } from '#bench/page/part';
import { firstAnswerMs, RestartedService } from '#bench/processes/restarted-service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { ObservedInstances } from '#bench/scale/observed-instances';

const INSTANCES = 5_000;
const INSTANCES_QUICK = 200;

/** Records in the tail: slightly below the bound at which the service refuses writes. */
const TAIL = UNFLUSHED_RECORDS_MAX - 2_000;
const TAIL_QUICK = 2_000;

/** Maximum time from start to first answer after a SIGKILL, in ms. Source: the project's targets. */
const FIRST_MS_MAX = 2_000;

/** Preloads a module that disables checkpoints, so that the tail grows. */
const KEPT = ['--import', import.meta.resolve('../scale/fail-over/never-stored.ts')];

/** Time from start to first answer after a SIGKILL, for a process on a SQLite file. */
export const fileRestart: Part = {
  name: 'file-restart',
  group: 'file',
  title: 'Restart of a process on one file',
  about:
    'Checkpoints are disabled, so that every record of the journal must be applied at the start.',
  async measure({ isQuick, print }) {
    const count = isQuick ? INSTANCES_QUICK : INSTANCES;
    const tail = isQuick ? TAIL_QUICK : TAIL;
    const path = join(temporaryFolder(), 'identity-engine.db');
    await using service = await RestartedService.on(path);
    await service.start(KEPT);
    const { address, metricsUrls } = service;
    const key = await service.createKey();
    using instances = new ObservedInstances({ address, key }, print);
    const first = () => instances.observe(0);
    await instances.create(count);
    const all = Array.from({ length: count }, (_, i) => i);
    for (let made = count; made < tail; made += count) await instances.observeEach(all);
    const unflushed = await unflushedRecords(metricsUrls);
    const walBytes = statSync(`${path}-wal`).size;
    const bytes = statSync(path).size;
    await service.end('SIGKILL');
    print(`killed with ${unflushed} records without a checkpoint`);
    const killedMs = await firstAnswerMs(service, first);
    await instances.prove(all);
    await service.end('SIGTERM');
    // A start with an empty tail, for comparison: the difference is the recovery time.
    const stoppedMs = await firstAnswerMs(service, first);
    const figures = [
      figure('records without a checkpoint at the SIGKILL', unflushed.toLocaleString('en')),
      figure('size of the file with its WAL at the SIGKILL', mebibytes(bytes + walBytes)),
      figure('time from start to the first answer, after SIGTERM', `${stoppedMs.toFixed(0)} ms`),
      atMost('time from start to the first answer, after SIGKILL', killedMs, FIRST_MS_MAX, 'ms'),
    ];
    return { figures };
  },
};
