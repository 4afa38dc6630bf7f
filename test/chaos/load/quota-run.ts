import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shardOf } from '#cluster/shard-owners';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { newAccount } from '#deploy/local/new-account';
import { type Print, withProgress } from '#deploy/local/progress';
import { stopService } from '#test/chaos/chaos-run';
import { checkCharges } from '#test/chaos/checks/charges';
import { checkQuota, type QuotaUse } from '#test/chaos/checks/quota';
import { type CheckResult, checkStores } from '#test/chaos/checks/stores';
import { openClusterStores } from '#test/chaos/cluster-stores';
import { killOwners } from '#test/chaos/faults/kill-owners';
import { ownersByShard } from '#test/chaos/faults/meter-owners';
import { finalUsagesOf, type Usage } from '#test/chaos/load/account-usage';
import { CallLog } from '#test/chaos/load/call-log';
import { callerOf } from '#test/chaos/load/edge-caller';
import { type QuotaDemand, QuotaLoad } from '#test/chaos/load/quota-load';
import { Scene } from '#test/chaos/scene';

/** Load on the quota, and number of kills. */
export const QUOTA_DEMAND: QuotaDemand = {
  quota: 100_000,
  clients: 50,
  cyclesWanted: 300_000,
  cyclesPerSecond: 1_000,
  // Two calls per second and client, to limit the work of this machine.
  cyclesPerCall: 10,
  kills: 10,
  shareMin: 0.97,
};

/** Request limit of the account, far above its calls. */
const REQUESTS_PER_MINUTE = 1_000_000;

/** Folder, ports and progress printer of a run. */
export type QuotaPlace = {
  /** Folder for the cluster's state and logs, and the acknowledgement log. */
  readonly folder: string;
  /** First of 100 loopback ports. */
  readonly ports: number;
  readonly print: Print;
};

/** Maximum time without an owner of the account, and polling interval, in milliseconds. */
const OWNED_MS_MAX = 30_000;
const LOOK_EVERY_MS = 100;

/** Result of a run; `check` has the findings. */
export type QuotaResult = QuotaUse & {
  readonly demand: QuotaDemand;
  readonly usage: Usage;
  readonly log: CallLog;
  readonly load: QuotaLoad;
  readonly check: CheckResult;
};

/**
 * Quota run: clients exhaust the quota of one account while the owning limiter is killed
 * repeatedly. Then stops the cluster and proves from its stores that no client got more, and that
 * crashes cost little. Rejects if the cluster cannot be started or gives an impossible answer.
 */
export async function runQuota(place: QuotaPlace, demand: QuotaDemand): Promise<QuotaResult> {
  const { folder, ports, print } = place;
  await mkdir(folder, { recursive: true });
  const size = { folder: join(folder, 'quota'), ports, consoles: 0 };
  await using cluster = await openLocalCluster({ ...size, print });
  await using stores = await openClusterStores(cluster);
  const limits = { requests_per_minute: REQUESTS_PER_MINUTE, cycles_per_month: demand.quota };
  const account = await newAccount(cluster.plan.adminUrl, 'quota', limits);
  const accounts = [account.accountId];
  const scene = new Scene(cluster, accounts, undefined, print);
  using caller = callerOf(cluster.plan);
  const log = new CallLog();
  const load = new QuotaLoad({ log, caller, account }, demand);
  const kill = () => killOwner(scene, stores, account.accountId);
  const [, kills] = await withProgress(
    print,
    `${demand.clients} clients use a quota of ${demand.quota} cycles`,
    () => Promise.all([load.run(), killOwners(load, demand, kill)]),
    () => `${load.wanted} wanted, ${load.acknowledged} acknowledged`,
  );
  await log.writeTo(join(folder, 'quota-calls.jsonl'));
  print('waiting until every reservation is settled or expired');
  const [usage] = await finalUsagesOf(cluster.plan.adminUrl, accounts);
  if (usage === undefined) throw new Error('no limiter says what the account has used');
  const { endedThemselves } = scene;
  print('stopping the service');
  await stopService(cluster, print);
  print('checking the stores');
  const check = await checkStores(log, accounts, stores);
  const committed = check.committed.get(account.accountId) ?? 0;
  const { acknowledged, refused } = load;
  const use = { committed, acknowledged, usage, refusedClients: refused.size, kills };
  checkCharges([usage], check.committed, check.findings);
  checkQuota(demand, use, check.findings);
  for (const line of endedThemselves) check.findings.add(line);
  return { ...use, demand, log, load, check };
}

/** Kills the current owner of the account, as in the database. */
async function killOwner(
  scene: Scene,
  stores: Awaited<ReturnType<typeof openClusterStores>>,
  accountId: string,
): Promise<void> {
  const owner = await livingOwner(scene.cluster, stores, accountId);
  await scene.disturb(`kill -9 ${owner}`, () => scene.kill(owner));
}

async function livingOwner(
  cluster: LocalCluster,
  stores: Awaited<ReturnType<typeof openClusterStores>>,
  accountId: string,
): Promise<string> {
  const deadlineMs = performance.now() + OWNED_MS_MAX;
  for (;;) {
    const owners = await ownersByShard(cluster, stores);
    const owner = owners[shardOf(accountId, cluster.plan.shards)] ?? '';
    if (owner !== '' && cluster.pidOf(owner) !== undefined) return owner;
    if (performance.now() > deadlineMs) throw new Error(`no limiter owns ${accountId}`);
    await sleep(LOOK_EVERY_MS);
  }
}
