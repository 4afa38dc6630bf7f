import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance } from '#test/chaos/faults/chance';
import { type Call, CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import { type DiskRecord, readDiskLog } from '#test/power-loss/disk/disk-log';
import { recordingVariables } from '#test/power-loss/disk/disk-recorder';
import { type LimitedAccount, limitedAccounts } from '#test/power-loss/limited-accounts';
import { ServiceOnFile } from '#test/power-loss/service-on-file';

/** Load on a recorded service. */
export type RecordedLoad = {
  readonly seed: number;
  readonly callsPerSecond: number;
  readonly instances: number;
  /** Monthly quota of each account in cycles; undefined for unlimited. */
  readonly quotas: readonly (number | undefined)[];
  /** Duration of each process, in seconds. */
  readonly lifeS: number;
  /** Additional duration of a sync, in microseconds. */
  readonly syncUs: number;
};

/** Disk writes of a service, and the call log. */
export type RecordedRun = {
  readonly records: readonly DiskRecord[];
  readonly calls: readonly Call[];
  readonly accounts: readonly LimitedAccount[];
  /** Folder with the file after the run. */
  readonly folder: string;
  /** Start and end of the run, in this process's monotonic milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Offset from monotonic milliseconds to the nanoseconds of the records. */
  readonly offsetNs: bigint;
};

/** Base name of the file. */
export const FILE_NAME = 'identity.db';

/** Minimum memory settings, so that evictions cause more writes. */
const SMALL_MEMORY = { SERVICE_ACTOR_MEMORY_MIB: '1', SERVICE_ACTOR_IDLE_S: '30' };

/**
 * Records the disk writes of a service on a new file under load. The first process is killed with
 * -9, the second is stopped cleanly under load, and the third is killed with -9.
 */
export async function recordRun(
  place: string,
  library: string,
  load: RecordedLoad,
): Promise<RecordedRun> {
  const folder = join(place, 'data');
  await mkdir(folder, { recursive: true });
  const log = join(place, 'disk.log');
  const offsetNs = process.hrtime.bigint() - BigInt(Math.round(performance.now() * 1e6));
  const fromMs = performance.now();
  const recording = await recordingVariables(library, folder, log, load.syncUs);
  const variables = { ...recording, ...SMALL_MEMORY };
  const service = await ServiceOnFile.on(join(folder, FILE_NAME), variables);
  const { calls, accounts } = await liveUnder(service, load);
  const toMs = performance.now();
  return { records: await readDiskLog(log), calls, accounts, folder, fromMs, toMs, offsetNs };
}

async function liveUnder(service: ServiceOnFile, load: RecordedLoad) {
  const { seed, callsPerSecond, instances, quotas, lifeS } = load;
  const log = new CallLog();
  using caller = new EdgeCaller([service.origin]);
  await using first = service.start();
  await first.ready;
  const accounts = await limitedAccounts(first.adminUrl(), quotas);
  const arriving = new Load({ log, caller, accounts, chance: new Chance(seed) });
  await arriving.prepare(instances);
  const running = arriving.run(callsPerSecond);
  await sleep(lifeS * 1_000);
  await first.kill();
  await using second = service.start();
  await second.ready;
  await sleep(lifeS * 1_000);
  await second.stop();
  await using third = service.start();
  await third.ready;
  await sleep(lifeS * 1_000);
  const stopping = arriving.stop();
  await Promise.all([stopping, running]);
  await third.kill();
  return { calls: log.calls, accounts };
}
