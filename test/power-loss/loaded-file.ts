import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance } from '#test/chaos/faults/chance';
import { type Call, CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import { type LimitedAccount, limitedAccounts } from '#test/power-loss/limited-accounts';
import { ServiceOnFile } from '#test/power-loss/service-on-file';

/* Separate from its only test, which then only damages and reads files. */

/** A SQLite file with data, and the calls that wrote the data. */
export type LoadedFile = {
  readonly file: string;
  readonly calls: readonly Call[];
  readonly accounts: readonly LimitedAccount[];
};

/** Load that fills a small file. */
const SIZE = { accounts: 2, instances: 12, callsPerSecond: 120, seconds: 4, seed: 5 };

/** Fills a small file in `folder` by a service under load. `end` is a clean stop or kill -9. */
export async function loadedFile(folder: string, end: 'stop' | 'kill'): Promise<LoadedFile> {
  await mkdir(folder);
  const file = join(folder, 'identity.db');
  const service = await ServiceOnFile.on(file);
  await using life = service.start();
  await life.ready;
  const quotas = Array.from({ length: SIZE.accounts }, () => undefined);
  const accounts = await limitedAccounts(life.adminUrl(), quotas);
  const log = new CallLog();
  using caller = new EdgeCaller([service.origin]);
  const load = new Load({ log, caller, accounts, chance: new Chance(SIZE.seed) });
  await load.prepare(SIZE.instances);
  const running = load.run(SIZE.callsPerSecond);
  await sleep(SIZE.seconds * 1_000);
  await Promise.all([load.stop(), running]);
  await life[end]();
  return { file, calls: log.calls, accounts };
}
