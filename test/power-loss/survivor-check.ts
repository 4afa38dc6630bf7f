import { readConfig } from '#config';
import { storedRows, verifyHead } from '#ctl/head-verification';
import { foundationOf } from '#process/foundation';
import { openStores } from '#process/ports';
import type { InstanceStore } from '#storage/instance-store';
import { usagesOf } from '#test/chaos/account-usage';
import type { Call } from '#test/chaos/call-log';
import { checkCharges } from '#test/chaos/check-charges';
import { checkQuota } from '#test/chaos/check-quota';
import { type CheckResult, checkStores } from '#test/chaos/check-stores';
import type { Findings } from '#test/chaos/findings';
import type { FileServer } from '#test/power-loss/file-server';
import type { LimitedAccount } from '#test/power-loss/limited-accounts';
import { fileVariables } from '#test/power-loss/service-on-file';
import { adminTokenFile } from '#test/support/admin-token';

/** What is held against a file: what callers knew when the process or the machine went. */
export type Claim = {
  readonly file: string;
  readonly calls: readonly Call[];
  readonly accounts: readonly LimitedAccount[];
};

/** What a check came to; `verified` heads follow from their rows, bit for bit. */
export type SurvivorResult = CheckResult & { readonly verified: number };

/**
 * Starts the service on a file that a crash has left, stops it in good order, and checks from its stores
 * that they hold what callers were answered, that every head follows from its history (`ctl verify`), and
 * that no account was given more than its plan.
 */
export async function checkSurvivor(
  server: FileServer,
  { file, calls, accounts }: Claim,
): Promise<SurvivorResult> {
  const ids = accounts.map(({ accountId }) => accountId);
  const usages = await server.during(file, (adminUrl) => usagesOf(adminUrl, ids, adminTokenFile()));
  const config = readConfig({ ...fileVariables(file), SERVICE_LOG_LEVEL: 'silent' });
  await using stores = await openStores(config, foundationOf(config, 'power-loss'));
  const check = await checkStores({ calls }, ids, stores);
  const verified = await verifyAll(stores.instances, calls, check.findings);
  checkCharges(usages, check.committed, check.findings);
  for (const [place, usage] of usages.entries()) {
    const { accountId, quota } = accounts[place] ?? { accountId: '', quota: 0 };
    const committed = check.committed.get(accountId) ?? 0;
    const use = { committed, acknowledged: 0, usage, refusedClients: 0, kills: 0 };
    checkQuota({ ...ANY_USE, quota }, use, check.findings);
  }
  return { ...check, verified };
}

/** How little of a quota is used, and by whom, is no matter here. */
const ANY_USE = {
  clients: 0,
  cyclesWanted: 0,
  cyclesPerSecond: 0,
  cyclesPerCall: 0,
  kills: 0,
  shareMin: 0,
};

/** What `ctl verify` does, of every instance that a caller knows. */
async function verifyAll(
  instances: InstanceStore,
  calls: readonly Call[],
  findings: Findings,
): Promise<number> {
  const ids = new Set(calls.map(({ instance }) => instance).filter((id) => id !== ''));
  let verified = 0;
  for (const id of ids) {
    const head = await instances.readHead(id);
    if (head === undefined) continue;
    const replay = await verifyHead(head, storedRows(instances, id, head));
    if (replay.kind === 'same' || replay.kind === 'unknown_start') verified += 1;
    else if (replay.kind !== 'deleted' || replay.rows > 0) {
      findings.add(`${id}: verify says ${JSON.stringify(replay)}`);
    }
  }
  return verified;
}
