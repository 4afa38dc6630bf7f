import { readConfig } from '#config';
import { storedRows, verifyHead } from '#ctl/verify/heads';
import { openStores } from '#startup/ports';
import { foundationOf } from '#startup/process/dependencies';
import type { InstanceStore } from '#storage/ports/instances';
import { checkCharges } from '#test/chaos/checks/charges';
import type { Findings } from '#test/chaos/checks/findings';
import { checkQuota } from '#test/chaos/checks/quota';
import { type CheckResult, checkStores } from '#test/chaos/checks/stores';
import { usagesOf } from '#test/chaos/load/account-usage';
import type { Call } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import type { FileServer } from '#test/power-loss/file-server';
import type { LimitedAccount } from '#test/power-loss/limited-accounts';
import { fileVariables } from '#test/power-loss/service-on-file';
import { adminTokenFile } from '#test/support/calls/admin-token';

/** A file after a crash, and the calls as callers knew them at the crash. */
export type Claim = {
  readonly file: string;
  readonly calls: readonly Call[];
  readonly accounts: readonly LimitedAccount[];
};

/** Result of a check. `verified` counts heads recomputed from their histories. */
export type SurvivorResult = CheckResult & { readonly verified: number };

/**
 * Checks a file after a crash. Starts the service on the file, reads every instance, and stops the
 * service cleanly. Then compares the stores with the answers to callers, replays each history
 * (`ctl verify`), and checks that no account exceeded its plan.
 */
export async function checkSurvivor(
  server: FileServer,
  { file, calls, accounts }: Claim,
): Promise<SurvivorResult> {
  const ids = accounts.map(({ accountId }) => accountId);
  const { usages, refused } = await server.during(file, async ({ origin, adminUrl }) => ({
    refused: await unreadable(origin, calls, accounts),
    usages: await usagesOf(adminUrl, ids, adminTokenFile()),
  }));
  const config = readConfig({ ...fileVariables(file), SERVICE_LOG_LEVEL: 'silent' });
  await using stores = await openStores(config, foundationOf(config, 'power-loss'));
  const check = await checkStores({ calls }, ids, stores);
  for (const line of refused) check.findings.add(line);
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

/** Findings for acknowledged instances that the service does not return. */
async function unreadable(
  origin: string,
  calls: readonly Call[],
  accounts: readonly LimitedAccount[],
): Promise<string[]> {
  using caller = new EdgeCaller([origin]);
  const apiKeys = new Map(accounts.map(({ accountId, apiKey }) => [accountId, apiKey]));
  const removed = new Set(
    calls.filter(({ requested }) => requested.kind === 'remove').map(({ instance }) => instance),
  );
  const refused: string[] = [];
  for (const { requested, accountId, instance } of calls) {
    if (requested.kind !== 'create' || instance === '' || removed.has(instance)) continue;
    const apiKey = apiKeys.get(accountId) ?? '';
    const asked = { method: 'GET', path: `/instances/${instance}/snapshot`, apiKey } as const;
    const answered = await caller.send(asked);
    if (answered.kind === 'answer' && answered.status === 200) continue;
    const why = answered.kind === 'answer' ? answered.body : answered.kind;
    refused.push(`${instance}: created, but the service does not return it: ${why}`);
  }
  return refused;
}

/** Demand without lower bounds, so that `checkQuota` checks only the upper bound. */
const ANY_USE = {
  clients: 0,
  cyclesWanted: 0,
  cyclesPerSecond: 0,
  cyclesPerCall: 0,
  kills: 0,
  shareMin: 0,
};

/** Runs `ctl verify` on every instance that callers know. */
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
      findings.add(`${id}: ctl verify found ${JSON.stringify(replay)}`);
    }
  }
  return verified;
}
