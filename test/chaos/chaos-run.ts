import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { type NewAccount, newAccount } from '#deploy/local/new-account';
import type { Print } from '#deploy/local/progress';
import type { InstanceStore } from '#storage/ports/instances';
import { checkCharges } from '#test/chaos/checks/charges';
import { checkDeliveries } from '#test/chaos/checks/deliveries';
import { checkDemands } from '#test/chaos/checks/demands';
import { Findings } from '#test/chaos/checks/findings';
import { checkJournals } from '#test/chaos/checks/journals';
import { checkPages } from '#test/chaos/checks/pages';
import { type CheckResult, checkStores } from '#test/chaos/checks/stores';
import { openClusterStores } from '#test/chaos/cluster-stores';
import { Chance } from '#test/chaos/faults/chance';
import type { Fault } from '#test/chaos/faults/fault';
import { type FaultProxy, startFaultProxy } from '#test/chaos/faults/fault-proxy';
import type { LimiterOutage } from '#test/chaos/faults/limiter-outage';
import { evenMeterOwners } from '#test/chaos/faults/meter-owners';
import type { StoreOutage } from '#test/chaos/faults/store-outage';
import { finalUsagesOf, type Usage } from '#test/chaos/load/account-usage';
import { CallLog } from '#test/chaos/load/call-log';
import { type Answered, callerOf, type EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import { WebhookReceiver } from '#test/chaos/load/webhook-receiver';
import { Scene } from '#test/chaos/scene';
import type { Disturbance } from '#test/chaos/timeline';

/** Faults and load of a chaos run. */
export type ChaosPlan = {
  /** Folder for the state and logs of the cluster, and for the call log. */
  readonly folder: string;
  /** First port of the block of 100 loopback ports that the run uses. */
  readonly ports: number;
  readonly faults: readonly Fault[];
  /** Limiter timeout of edges in ms; default: the timeout of `make cluster`. */
  readonly limiterTimeoutMs?: number | undefined;
  /** Cassandra nodes; default 1. */
  readonly cassandraNodes?: 3 | undefined;
  /** Seconds of load before the first fault, in which Cassandra's JIT compiler finishes. */
  readonly warmS: number;
  /** Seconds without a fault after each fault. */
  readonly quietS: number;
  readonly callsPerSecond: number;
  readonly instances: number;
  readonly accounts: number;
  readonly seed: number;
  readonly print: Print;
};

/** Result of a chaos run. */
export type ChaosResult = {
  readonly log: CallLog;
  readonly disturbances: readonly Disturbance[];
  readonly outages: readonly LimiterOutage[];
  readonly storeOutages: readonly StoreOutage[];
  readonly check: CheckResult;
  /** Usage of each account after the last call. */
  readonly usages: readonly Usage[];
  /** Start of the load, in monotonic milliseconds. */
  readonly fromMs: number;
  /** End of the load, in monotonic milliseconds. */
  readonly toMs: number;
  /** Calls not sent, because too many calls were in flight. */
  readonly unsent: number;
  readonly deliveries: Deliveries;
};

/** Events that the webhook endpoints of all accounts received. */
type Deliveries = {
  /** Time from the commit of each change until its first arrival, in milliseconds. */
  readonly lagsMs: readonly number[];
  /** Number of further arrivals. */
  readonly repeated: number;
};

/** Stop time above which a process is logged, in seconds. */
const SLOW_STOP_S = 5;

/** Maximum age of dirty state before its checkpoint (architecture 3.2), in milliseconds. */
const STORED_MS = 125_000;

/** Maximum time until all changes are delivered after the load, in milliseconds. */
const DELIVERED_MS = 120_000;

/** Variables of processes that may send webhooks to the receiver of the run. */
const TO_LOOPBACK = { SERVICE_WEBHOOK_NETWORKS: '127.0.0.0/8' };

/** Offset of Cassandra's port in the port block of the run. */
const CASSANDRA = 3;

/** Offset of the fault proxy's port in the port block of the run. */
const PROXY = 99;

/** Account limits that no run reaches. */
export const LIMITS = { requests_per_minute: 100_000_000, cycles_per_month: 100_000_000_000 };

/** Maximum number of histories per account to read through the API. */
const HISTORIES_WALKED = 20;

/**
 * Starts a cluster under load, injects every planned fault, stops the cluster, and compares the
 * stores with the answers to callers. The result contains the findings. Rejects if the cluster does
 * not start.
 */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const { folder, ports, print } = plan;
  await mkdir(folder, { recursive: true });
  await using proxy = await proxyOf(plan);
  await using receiver = await WebhookReceiver.open();
  await using cluster = await openLocalCluster({
    folder: join(folder, 'cluster'),
    ports,
    cassandraNodes: plan.cassandraNodes,
    consoles: 0,
    print,
    variablesOf: (planned) => variablesOf(planned, plan, proxy),
  });
  print('the cluster serves');
  const accounts = await accountsOf(cluster, plan.accounts);
  const ids = accounts.map(({ accountId }) => accountId);
  const scene = new Scene(cluster, ids, proxy, print);
  using caller = callerOf(cluster.plan);
  for (const account of accounts) await addWebhook(caller, account, receiver);
  const log = new CallLog();
  const load = new Load({ log, caller, accounts, chance: new Chance(plan.seed) });
  await load.prepare(plan.instances);
  print(`${load.instances} instances in ${accounts.length} accounts created; the load starts`);
  const fromMs = performance.now();
  await disturb(scene, load, plan);
  const toMs = performance.now();
  const { disturbances, outages, storeOutages, endedThemselves } = scene;
  print(`the load has ended after ${log.calls.length} calls; checking pages of the API`);
  const pages = await pageFindings(caller, accounts, log);
  print('waiting until the webhooks have every change');
  const late = await undelivered(caller, accounts);
  await log.writeTo(join(folder, 'calls.jsonl'));
  print('waiting until all reservations are settled or expired');
  const usages = await finalUsagesOf(cluster.plan.adminUrl, ids);
  print('stopping the service');
  await stopService(cluster, print);
  print('checking the stores');
  const check = await checkCluster(cluster, log, ids, print);
  checkCharges(usages, check.committed, check.findings);
  checkDemands(plan.faults, { log, disturbances, storeOutages }, check.findings);
  const deliveries = await checkedDeliveries(cluster, ids, receiver, check.findings);
  const seen = [...pages.lines, ...late, ...scene.findings.lines, ...endedThemselves];
  for (const line of seen) check.findings.add(line);
  return {
    log,
    disturbances,
    outages,
    storeOutages,
    check,
    usages,
    fromMs,
    toMs,
    unsent: load.unsent,
    deliveries,
  };
}

/** Creates a webhook endpoint that leads to the receiver. */
async function addWebhook(
  caller: EdgeCaller,
  { accountId, apiKey }: NewAccount,
  receiver: WebhookReceiver,
): Promise<void> {
  const body = { url: receiver.urlOf(accountId), max_batch: 10 };
  const answered = await caller.send({ method: 'POST', path: '/webhooks', apiKey, body });
  if (answered.kind !== 'answer' || answered.status !== 201) {
    throw new Error(`no webhook endpoint was created: ${JSON.stringify(answered)}`);
  }
  receiver.accept(accountId, JSON.parse(answered.body).data.secret);
}

/**
 * Waits until every change is delivered, in two readings: an outbox may still hold changes when
 * everything in the log is delivered. Returns a line for each account with late changes.
 */
async function undelivered(caller: EdgeCaller, accounts: readonly NewAccount[]): Promise<string[]> {
  const endMs = performance.now() + DELIVERED_MS;
  for (let delivered = 0; ; ) {
    const lines: string[] = [];
    for (const { accountId, apiKey } of accounts) {
      const answered = await caller.send({ method: 'GET', path: '/webhooks', apiKey });
      if (isDelivered(answered)) continue;
      lines.push(`the webhook of ${accountId} is late: ${JSON.stringify(answered)}`);
    }
    delivered = lines.length === 0 ? delivered + 1 : 0;
    if (delivered === 2 || performance.now() > endMs) return lines;
    await sleep(2_000);
  }
}

/** Whether an answer to `GET /webhooks` has an endpoint without waiting or failed changes. */
function isDelivered(answered: Answered): boolean {
  if (answered.kind !== 'answer' || answered.status !== 200) return false;
  const [endpoint] = JSON.parse(answered.body).data;
  return endpoint.changes_behind === 0 && endpoint.changes_failed === 0;
}

async function checkedDeliveries(
  cluster: LocalCluster,
  accounts: readonly string[],
  receiver: WebhookReceiver,
  findings: Findings,
): Promise<Deliveries> {
  await using stores = await openClusterStores(cluster);
  await checkDeliveries((id) => receiver.inboxOf(id), accounts, stores.feeds, findings);
  if (receiver.refused > 0) findings.add(`${receiver.refused} webhooks had a wrong signature`);
  const inboxes = accounts.map((id) => receiver.inboxOf(id));
  return {
    lagsMs: inboxes.flatMap(({ arrivals }) => [...arrivals.values()].map(({ lagMs }) => lagMs)),
    repeated: inboxes.reduce((sum, { repeated }) => sum + repeated, 0),
  };
}

/**
 * Starts the fault proxy if a fault of the plan needs it. Otherwise returns undefined, because the
 * proxy makes every statement slower.
 */
async function proxyOf({
  folder,
  ports,
  faults,
  print,
}: ChaosPlan): Promise<FaultProxy | undefined> {
  if (!faults.some(({ isProxied }) => isProxied)) return undefined;
  const place = { folder: join(folder, 'toxiproxy'), logFolder: join(folder, 'cluster', 'logs') };
  const upstream = `127.0.0.1:${ports + CASSANDRA}`;
  return startFaultProxy(place, { port: ports + PROXY, upstream, print });
}

async function disturb(scene: Scene, load: Load, plan: ChaosPlan): Promise<void> {
  const running = load.run(plan.callsPerSecond);
  plan.print(`${plan.warmS} s without faults, until Cassandra's JIT compiler has finished`);
  await sleep(plan.warmS * 1_000);
  for (const fault of plan.faults) {
    plan.print(fault.title);
    scene.fault = fault.name;
    await fault.run(scene);
    await sleep(plan.quietS * 1_000);
  }
  await load.stop();
  await running;
}

/** Environment variables that differ from `make cluster`. */
function variablesOf(
  { kind }: PlannedProcess,
  { limiterTimeoutMs }: ChaosPlan,
  proxy: FaultProxy | undefined,
): Record<string, string> {
  if (kind === 'courier') return TO_LOOPBACK;
  if (kind === 'edge') {
    if (limiterTimeoutMs === undefined) return TO_LOOPBACK;
    return { ...TO_LOOPBACK, SERVICE_LIMITER_TIMEOUT_MS: `${limiterTimeoutMs}` };
  }
  if (kind !== 'engine' || proxy === undefined) return {};
  return { SERVICE_CASSANDRA_CONTACT_POINTS: proxy.address };
}

/**
 * Creates accounts until the limiters own equal shares of `count` accounts. Returns these accounts;
 * surplus accounts stay unused.
 */
async function accountsOf(cluster: LocalCluster, count: number): Promise<NewAccount[]> {
  const { adminUrl, processes } = cluster.plan;
  const limiters = processes.filter(({ kind }) => kind === 'limiter').map(({ name }) => name);
  const ownerOf = await evenMeterOwners(cluster);
  const accounts: NewAccount[] = [];
  while (accounts.length < count) {
    const account = await newAccount(adminUrl, `chaos ${accounts.length + 1}`, LIMITS);
    const due = limiters[accounts.length % limiters.length];
    if (ownerOf(account.accountId) === due) accounts.push(account);
  }
  return accounts;
}

/** Reads the instance listings and some histories through the API, and checks the pages. */
async function pageFindings(
  caller: EdgeCaller,
  accounts: readonly NewAccount[],
  { calls }: CallLog,
): Promise<Findings> {
  const findings = new Findings();
  const gone = new Set(
    calls.filter(({ requested }) => requested.kind === 'remove').map(({ instance }) => instance),
  );
  for (const account of accounts) {
    await checkPages(caller, account, '/instances', findings);
    const walked = calls.filter(
      ({ requested, instance, accountId }) =>
        requested.kind === 'create' &&
        instance !== '' &&
        !gone.has(instance) &&
        accountId === account.accountId,
    );
    for (const { instance } of walked.slice(0, HISTORIES_WALKED)) {
      await checkPages(caller, account, `/instances/${instance}/history?generation=all`, findings);
    }
  }
  return findings;
}

/** Stops all processes except the stores, so that nothing changes the stores. */
export async function stopService(cluster: LocalCluster, print: Print): Promise<void> {
  const startedMs = performance.now();
  const stop = async (name: string) => {
    await cluster.stop(name);
    const seconds = (performance.now() - startedMs) / 1_000;
    if (seconds > SLOW_STOP_S) print(`  ${name} took ${seconds.toFixed(1)} s to stop`);
  };
  for (const kind of ['balancer', 'edge', 'engine', 'courier', 'limiter']) {
    await Promise.all(cluster.names.filter((name) => name.startsWith(kind)).map(stop));
  }
}

/**
 * Checks the stores. If an engine's journal holds records that no checkpoint holds, the clean stop
 * failed: the check reports a finding, and starts engines again to recover the records.
 */
export async function checkCluster(
  cluster: LocalCluster,
  log: Pick<CallLog, 'calls'>,
  accounts: readonly string[],
  print: Print,
): Promise<CheckResult> {
  await using stores = await openClusterStores(cluster);
  const left = new Findings();
  await checkJournals(stores.journals, await versionsOf(log, stores.instances), left);
  if (left.count > 0) {
    print(`${left.count} instances have unstored records; starting engines to recover them`);
    await recover(cluster, print);
  }
  const check = await checkStores(log, accounts, stores);
  for (const line of left.lines) check.findings.add(`after the first stop: ${line}`);
  print(`${check.observations} observations of ${check.instances} instances checked`);
  return check;
}

async function versionsOf(
  log: Pick<CallLog, 'calls'>,
  store: InstanceStore,
): Promise<Map<string, number>> {
  const ids = new Set(log.calls.map(({ instance }) => instance));
  ids.delete('');
  const versions = new Map<string, number>();
  for (const id of ids) versions.set(id, (await store.readHead(id))?.version ?? 0);
  return versions;
}

/** Starts engines for tail recovery, and stops them after their checkpoints. */
async function recover(cluster: LocalCluster, print: Print): Promise<void> {
  const engines = cluster.names.filter((name) => name.startsWith('engine'));
  await Promise.all(engines.map((name) => cluster.start(name)));
  await cluster.served();
  await sleep(STORED_MS);
  await stopService(cluster, print);
}
