import { statSync } from 'node:fs';
import { join } from 'node:path';
import { UNFLUSHED_RECORDS_MAX } from '#actor-runtime/actor-bounds';
import { unflushedRecords } from '#bench/measures/gauges';
import { mebibytes } from '#bench/measures/statistics';
import { firstAnswerMs, RestartedService } from '#bench/processes/restarted-service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { ObservedInstances } from '#bench/scale/observed-instances';
import { atMost, figure, type ScalePart } from '#bench/scale/scale-part';
import { takeOverMsMax } from '#bench/targets';

const INSTANCES = 5_000;
const INSTANCES_QUICK = 200;

/** Records in the tail: slightly below the bound at which the service refuses writes. */
const TAIL = UNFLUSHED_RECORDS_MAX - 2_000;
const TAIL_QUICK = 2_000;

/** Name of the figure with a target. The formula is that of `takeOverMsMax`. */
const TARGETED = 'difference of these two times; target 300 ms + 5 ms per 1,000 records';

/** Preloads a module that disables checkpoints, so that the tail grows. */
const KEPT = ['--import', import.meta.resolve('./takeovers/never-stored.ts')];

/** Time from start to first answer after a SIGKILL, for a process on a SQLite file. */
export const file: ScalePart = {
  name: 'file',
  title: 'Restart of a process on one file',
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
    return [
      figure('records without a checkpoint at the SIGKILL', unflushed.toLocaleString('en')),
      figure('size of the file with its WAL at the SIGKILL', mebibytes(bytes + walBytes)),
      figure('time from start to the first answer, after SIGTERM', `${stoppedMs.toFixed(0)} ms`),
      figure('time from start to the first answer, after SIGKILL', `${killedMs.toFixed(0)} ms`),
      atMost(TARGETED, killedMs - stoppedMs, takeOverMsMax(unflushed), 'ms'),
    ];
  },
};
