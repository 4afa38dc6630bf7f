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

/** Parameters of the quota run in the report. */
export const QUOTA_DEMAND: QuotaDemand = {
  quota: 100_000,
  clients: 50,
  cyclesWanted: 300_000,
  cyclesPerSecond: 1_000,
  // Two calls per second and client, so that the load needs little CPU.
  cyclesPerCall: 10,
  kills: 10,
  shareMin: 0.97,
};

/** Request limit of the account, which the clients do not reach. */
const REQUESTS_PER_MINUTE = 1_000_000;

/** Folder, ports and progress printer of a run. */
export type QuotaPlace = {
  /** Folder for the state and logs of the cluster, and for the call log. */
  readonly folder: string;
  /** First port of the block of 100 loopback ports that the cluster uses. */
  readonly ports: number;
  readonly print: Print;
};

/** Maximum time until the account has a running owner, in milliseconds. */
const OWNED_MS_MAX = 30_000;

/** Interval between reads of the owner, in milliseconds. */
const POLL_EVERY_MS = 100;

/** Result of a run. `check` contains the findings. */
export type QuotaResult = QuotaUse & {
  readonly demand: QuotaDemand;
  readonly usage: Usage;
  readonly log: CallLog;
  readonly load: QuotaLoad;
  readonly check: CheckResult;
};

/**
 * Runs clients that use up the quota of one account, and kills the limiter that owns the account
 * several times. Then stops the cluster, and checks that clients used at most the quota and that
 * crashes cost few cycles. Rejects if the cluster does not start or an answer violates the API.
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
    `${demand.clients} clients use up a quota of ${demand.quota} cycles`,
    () => Promise.all([load.run(), killOwners(load, demand, kill)]),
    () => `${load.wanted} cycles requested, ${load.acknowledged} acknowledged`,
  );
  await log.writeTo(join(folder, 'quota-calls.jsonl'));
  print('waiting until all reservations are settled or expired');
  const [usage] = await finalUsagesOf(cluster.plan.adminUrl, accounts);
  if (usage === undefined) throw new Error('no limiter reports the usage of the account');
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

/** Kills the limiter that owns the account according to the database. */
async function killOwner(
  scene: Scene,
  stores: Awaited<ReturnType<typeof openClusterStores>>,
  accountId: string,
): Promise<void> {
  const owner = await runningOwner(scene.cluster, stores, accountId);
  await scene.disturb(`kill -9 ${owner}`, () => scene.kill(owner));
}

async function runningOwner(
  cluster: LocalCluster,
  stores: Awaited<ReturnType<typeof openClusterStores>>,
  accountId: string,
): Promise<string> {
  const deadlineMs = performance.now() + OWNED_MS_MAX;
  for (;;) {
    const owners = await ownersByShard(cluster, stores);
    const owner = owners[shardOf(accountId, cluster.plan.shards)] ?? '';
    if (owner !== '' && cluster.pidOf(owner) !== undefined) return owner;
    if (performance.now() > deadlineMs) throw new Error(`no running limiter owns ${accountId}`);
    await sleep(POLL_EVERY_MS);
  }
}
