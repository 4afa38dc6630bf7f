import { accountIdOf, openAccounts } from '#test/simulation/callers/accounts';
import { Caller, type CallerPorts } from '#test/simulation/callers/caller';
import { operate } from '#test/simulation/callers/operator';
import { WebhookOwner } from '#test/simulation/callers/webhook-owner';
import { allServed, SERVED_WITHIN_MS } from '#test/simulation/checks/all-served';
import { checkAllCharges, setUnlimitedPlans } from '#test/simulation/checks/charge-counts';
import { checkFeeds } from '#test/simulation/checks/feeds';
import { type Call, History } from '#test/simulation/checks/history';
import { checkListings } from '#test/simulation/checks/listings';
import { checkOrder } from '#test/simulation/checks/order';
import { checkDeleted, checkStored } from '#test/simulation/checks/stored';
import { checkTexts } from '#test/simulation/checks/texts';
import { Trace } from '#test/simulation/checks/trace';
import { disturb } from '#test/simulation/faults/disturb';
import { FLAWLESS, type Flaws } from '#test/simulation/faults/flaws';
import { drawScenario, type Scenario, type ScenarioRequest } from '#test/simulation/scenario';
import { SimulatedCluster } from '#test/simulation/simulated/cluster';
import {
  EtagBook,
  isAcknowledged,
  isWrite,
  Violation,
} from '#test/simulation/stored/version-index';
import { World } from '#test/simulation/world';

/** Maximum delay of a late write, in milliseconds. */
const LATE_WRITES_MS = 16_000;

/** Pause of a caller after a refusal for quota or rate limit, in milliseconds. */
const LIMITED_MS = [200, 2_000] as const;

/** Maximum time from the last fault until a deletion is stored, in ms. Source: decision 200. */
const DELETED_MS_MAX = 20_000;

/** Maximum time in ms that a process refuses calls after the faults: two store timeouts. */
const SILENCE_MS_MAX = 4_000;

/** Time until new processes are in each other's membership view, in ms: a few heartbeats. */
const MEMBERSHIP_MS = 5_000;

/** Maximum time until all processes have stopped one by one, in milliseconds. */
const LEAVING_MS_MAX = 180_000;

/** Options of `simulate`. */
export type SimulationOptions = {
  readonly requested?: ScenarioRequest;
  readonly flaws?: Flaws;
  /** Receives every trace line. */
  readonly hear?: (line: string) => void;
};

/** Result of a simulated run. */
export type Simulated = {
  readonly seed: number;
  readonly digest: string;
  readonly virtualMs: number;
  readonly events: number;
  readonly calls: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  /** Time from the last fault until every shard was served, in milliseconds. */
  readonly servedAfterMs: number;
  readonly seals: number;
  /** Number of events that webhook endpoints have got. */
  readonly delivered: number;
  /** Number of endpoints whose deliveries were compared with the log. */
  readonly endpoints: number;
  /** Number of these endpoints that miss events which a full list of failures may have dropped. */
  readonly excused: number;
};

/** A failed run, with its seed for a replay and its last trace lines. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
  readonly seed: number;
  readonly lastLines: readonly string[];

  constructor(seed: number, cause: unknown, lastLines: readonly string[]) {
    super(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.seed = seed;
    this.lastLines = lastLines;
  }
}

/** Simulates a seed and checks the run. Rejects with `SimulationFailure`. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Simulated> {
  const world = new World(seed, new Trace(options.hear));
  try {
    return await world.run(runScenario(world, options));
  } catch (error) {
    throw new SimulationFailure(seed, error, world.trace.lastLines);
  }
}

async function runScenario(world: World, options: SimulationOptions): Promise<Simulated> {
  const scenario = drawScenario(world.random.fork(), options.requested);
  world.startMs = scenario.startMs;
  world.note(`scenario ${JSON.stringify(scenario)}`);
  const history = new History();
  const cluster = new SimulatedCluster(world, scenario, options.flaws ?? FLAWLESS);
  await openAccounts(cluster.customers.accounts, scenario.accounts);
  cluster.start();
  cluster.trouble();
  for (const { atMs, what } of scenario.disturbances) {
    world.after(atMs, () => disturb(cluster, what));
  }
  const callers = load(history, cluster);
  const operator = scenario.isTrimming ? operate(cluster, history) : undefined;
  const owners = webhookOwners(cluster);
  const owned = Promise.all(owners.map((owner) => owner.live()));
  // Errors are thrown below, where the promises are awaited.
  for (const work of [callers, operator, owned]) work?.catch(() => undefined);
  await world.sleep(scenario.loadMs);
  cluster.heal();
  const servedAfterMs = await allServed(world, cluster);
  await callers;
  await operator;
  await owned;
  checkSeals(scenario, cluster);
  if (scenario.isDeletionTimed) {
    await world.sleep(DELETED_MS_MAX);
    for (const tables of cluster.actors.pairs) checkDeleted(history, tables);
  }
  await Promise.all(owners.map((owner) => owner.awaitDeliveries()));
  await setUnlimitedPlans(world, cluster);
  await checkPromptness(owners, history, cluster);
  await readAll(history, cluster);
  await leaveAll(world, cluster);
  await world.sleep(LATE_WRITES_MS);
  checkOrder(history);
  checkTexts(history);
  for (const tables of cluster.actors.pairs) {
    checkStored(history, tables);
    checkListings(history, tables);
    for (const feeds of cluster.feeds.pairs) checkFeeds(feeds, tables);
  }
  checkAllCharges(cluster);
  return resultOf(world, history, cluster, { owners, servedAfterMs });
}

/** Runs callers on every instance until the load ends. Resolves after their last call. */
async function load(history: History, cluster: SimulatedCluster): Promise<void> {
  const { world, scenario } = cluster;
  const answers = new AnswerWatcher(cluster, history);
  const ports = answers.callerPorts();
  const lives = Array.from({ length: scenario.instances }, async (_, place) => {
    const caller = new Caller(accountIdOf(place % scenario.accounts.length), ports);
    const random = world.random.fork();
    await world.sleep(random.between(500, 4_000));
    while (world.nowMs < scenario.loadMs) {
      const instance = await caller.create();
      if (instance === undefined) {
        await world.sleep(random.between(100, 1_000));
        continue;
      }
      const life = { isOver: false };
      const users = random.whole(1, scenario.callersMax);
      await Promise.all(Array.from({ length: users }, () => use(caller, instance, life)));
    }
    await caller.repeated();

    async function use(user: Caller, instance: string, life: { isOver: boolean }): Promise<void> {
      while (world.nowMs < scenario.loadMs && !life.isOver) {
        await world.sleep(random.between(1, scenario.thinkMsMax));
        const { requested, outcome } = await user.use(instance, answers.etags.get(instance));
        if (isLimited(outcome)) await world.sleep(random.between(...LIMITED_MS));
        const isGone = outcome.kind === 'refused' && outcome.code === 'not_found';
        if (isGone || (requested.kind === 'remove' && outcome.kind !== 'refused'))
          life.isOver = true;
      }
    }
  });
  await Promise.all(lives);
}

/** Customers with the webhook endpoints of the scenario. */
function webhookOwners(cluster: SimulatedCluster): WebhookOwner[] {
  const { couriers, scenario } = cluster;
  if (couriers === undefined) return [];
  return scenario.webhooks.map((plan) => new WebhookOwner(cluster, couriers, plan));
}

/** Checks that endpoints get a new event soon, although other endpoints never answer. */
async function checkPromptness(
  owners: readonly WebhookOwner[],
  history: History,
  cluster: SimulatedCluster,
): Promise<void> {
  const ports = new AnswerWatcher(cluster, history).callerPorts();
  const checks = owners.map(async (owner) => {
    const caller = new Caller(owner.accountId, ports);
    await owner.awaitPrompt(() => caller.create());
    await caller.repeated();
  });
  await Promise.all(checks);
}

/** Whether a limiter refused the call, so that the caller pauses. */
function isLimited(outcome: Call['outcome']): boolean {
  if (outcome.kind !== 'refused') return false;
  return outcome.code === 'rate_limited' || outcome.code === 'quota_exceeded';
}

/** Reports all answers to the oracle. */
class AnswerWatcher {
  /** Newest ETag that was answered for each instance. The keys are instance ids. */
  readonly etags = new Map<string, string>();
  readonly #book = new EtagBook();
  readonly #cluster: SimulatedCluster;
  readonly #history: History;

  constructor(cluster: SimulatedCluster, history: History) {
    this.#cluster = cluster;
    this.#history = history;
  }

  /** Ports for callers whose answers are watched. */
  callerPorts(): CallerPorts {
    const { world, scenario } = this.#cluster;
    const edges = () => this.#cluster.edges;
    const onEnded = (call: Call) => this.#report(call);
    return { world, history: this.#history, edges, keyed: scenario.keyed, onEnded };
  }

  #report({ id, outcome, instance }: Call): void {
    if (outcome.kind === 'refused' && outcome.code === 'internal') {
      throw new Violation(`call ${id} on ${instance} failed with the error internal`);
    }
    if (outcome.kind !== 'answered' || outcome.seen.etag === '') return;
    const { etag } = outcome.seen;
    this.etags.set(instance, etag);
    const version = this.#book.versionOf(instance, etag, this.#history.calls.length);
    if (version !== undefined) this.#cluster.oracle.answered(instance, version);
  }
}

/** Checks that stalls of the store alone cause no seal: a stall must not cascade. */
function checkSeals(
  { disturbances, store, replicas, bus, network }: Scenario,
  cluster: SimulatedCluster,
): void {
  const faults = [store, replicas, bus, network].flatMap((rates) => Object.values(rates));
  const isOnlyStalls = disturbances.every(({ what }) => what.kind === 'storeStall');
  if (!isOnlyStalls || faults.some((rate) => rate > 0)) return;
  const [seal] = cluster.seals;
  if (seal === undefined) return;
  throw new Violation(
    `${seal.by} sealed the journal of ${seal.victim}, although only the store stalled`,
  );
}

/** Reads every instance, history and listing after the faults. */
async function readAll(history: History, cluster: SimulatedCluster): Promise<void> {
  const { scenario } = cluster;
  const ports = new AnswerWatcher(cluster, history).callerPorts();
  const instances = new Map<string, string>();
  for (const { instance, account } of history.calls) {
    if (instance !== '') instances.set(instance, account);
  }
  const reads = [...instances].flatMap(([instance, account]) => {
    const caller = new Caller(account, ports);
    return [
      patiently(cluster, () => caller.carryOut(instance, { kind: 'read' }, undefined)),
      patiently(cluster, () => caller.carryOut(instance, { kind: 'readHistory' }, undefined)),
    ];
  });
  const lists = scenario.accounts.map((_, place) => {
    const caller = new Caller(accountIdOf(place), ports);
    return patiently(cluster, () => caller.carryOut('', { kind: 'list' }, undefined));
  });
  for (const { id, outcome } of await Promise.all([...reads, ...lists])) {
    const isGone = outcome.kind === 'refused' && outcome.code === 'not_found';
    if (outcome.kind === 'answered' || isGone) continue;
    throw new Violation(`call ${id} failed after the last fault: ${outcome.kind}`);
  }
}

/**
 * Retries refused calls while a process may still wait for a store timeout. Retries longer while a
 * pending seal may still fence a node, because its shards then need a takeover.
 */
async function patiently(cluster: SimulatedCluster, tried: () => Promise<Call>): Promise<Call> {
  const { world } = cluster;
  const startedMs = world.nowMs;
  for (;;) {
    const call = await tried();
    const { outcome } = call;
    const isRefused = outcome.kind === 'refused' && outcome.code === 'service_unavailable';
    const patienceMs = cluster.isDoomed ? SERVED_WITHIN_MS : SILENCE_MS_MAX;
    if (!isRefused || world.nowMs > startedMs + patienceMs) return call;
    await world.sleep(100);
  }
}

async function leaveAll(world: World, cluster: SimulatedCluster): Promise<void> {
  // A new process hands off its shards only to members of its view.
  await world.sleep(MEMBERSHIP_MS);
  const late = world.after(LEAVING_MS_MAX, () => {
    world.fail(new Violation(`the processes have not stopped within ${LEAVING_MS_MAX} ms`));
  });
  while (await cluster.stop()) {
    cluster.start();
    await allServed(world, cluster);
    await world.sleep(MEMBERSHIP_MS);
  }
  late[Symbol.dispose]();
}

function resultOf(
  world: World,
  { calls }: History,
  cluster: SimulatedCluster,
  { owners, servedAfterMs }: { readonly owners: WebhookOwner[]; readonly servedAfterMs: number },
): Simulated {
  const count = (isCounted: (call: Call) => boolean): number => calls.filter(isCounted).length;
  return {
    seed: world.seed,
    digest: world.trace.digest,
    virtualMs: Math.round(world.nowMs),
    events: world.eventCount,
    calls: calls.length,
    acknowledged: count((call) => isWrite(call) && isAcknowledged(call)),
    unknown: count(({ outcome }) => outcome.kind === 'unknown'),
    refused: count(({ outcome }) => outcome.kind === 'refused'),
    servedAfterMs: Math.round(servedAfterMs),
    seals: cluster.seals.length,
    delivered: cluster.couriers?.watch.deliveredCount ?? 0,
    endpoints: cluster.scenario.webhooks.filter(({ isHanging }) => !isHanging).length,
    excused: owners.filter(({ excused }) => excused > 0).length,
  };
}
