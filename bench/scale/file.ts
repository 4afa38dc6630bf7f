import { statSync } from 'node:fs';
import { join } from 'node:path';
import { UNFLUSHED_RECORDS_MAX } from '#actor-runtime/bounds';
import { unflushedRecords } from '#bench/gauges';
import { firstAnswerMs, RestartedService } from '#bench/restarted-service';
import { ObservedInstances } from '#bench/scale/observed-instances';
import { atMost, figure, type ScalePart } from '#bench/scale/scale-part';
import { mebibytes } from '#bench/statistics';
import { takeOverMsMax } from '#bench/targets';
import { temporaryFolder } from '#bench/temporary-folder';

const INSTANCES = 5_000;
const INSTANCES_QUICK = 200;

/** Records of which the bound of the tail is made: a little less, or the service refuses the last. */
const TAIL = UNFLUSHED_RECORDS_MAX - 2_000;
const TAIL_QUICK = 2_000;

/** Keeps the service from storing, so that its tail grows as long as is wanted. */
const KEPT = ['--import', import.meta.resolve('./never-stored.ts')];

/** How soon the process of a file answers again after a SIGKILL, by what it had not stored. */
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
    print(`killed with ${unflushed} records that are not stored`);
    const killedMs = await firstAnswerMs(service, first);
    await instances.prove(all);
    await service.end('SIGTERM');
    // The same start with nothing to take over: what the tail has added is the difference.
    const stoppedMs = await firstAnswerMs(service, first);
    return [
      figure('records without a checkpoint at the SIGKILL', unflushed.toLocaleString('en')),
      figure('size of the file with its WAL then', mebibytes(bytes + walBytes)),
      figure('after SIGTERM: start to first answer', `${stoppedMs.toFixed(0)} ms`),
      figure('after SIGKILL: start to first answer', `${killedMs.toFixed(0)} ms`),
      atMost('added by these records', killedMs - stoppedMs, takeOverMsMax(unflushed), 'ms'),
    ];
  },
};
