import { CtlError } from '#ctl/command';
import { trimPlan } from '#ctl/verify/trim-plan';
import { Fault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import { storedHistory } from '#storage/ports/chunks';
import { type Floor, type InstanceStore, trimmedOf } from '#storage/ports/instances';
import { patiently } from '#test/simulation/callers/timeouts';
import {
  type Call,
  type History,
  type Outcome,
  outcomeOfError,
} from '#test/simulation/checks/history';
import type { SimulatedCluster } from '#test/simulation/simulated/cluster';
import type { SimulatedEdge } from '#test/simulation/simulated/edge';

/** Pause between two trims, in ms; much shorter than the daily interval of a real operator. */
const PAUSE_MS = [100, 1_500] as const;

/** Placeholder for the answer to a trim, because the checks need no field. */
const NOTHING_SEEN = {
  etag: '',
  isThrottled: false,
  vitals: undefined,
  texts: undefined,
  marks: undefined,
  listed: undefined,
  total: undefined,
};

/** A trim to send: its floor, and the marks of the observations below. */
type Plan = { readonly floor: Floor; readonly marks: readonly string[] };

/**
 * Trims random instances up to random rows during the load, like `ctl retention apply`. Resolves
 * when the load ends.
 */
export async function operate(cluster: SimulatedCluster, history: History): Promise<void> {
  const { world, scenario } = cluster;
  const random = world.random.fork();
  while (world.nowMs < scenario.loadMs) {
    await world.sleep(random.between(...PAUSE_MS));
    const { edges } = cluster;
    const known = history.calls.filter(({ instance }) => instance !== '');
    if (edges.length === 0 || known.length === 0) continue;
    const edge = random.pick(edges);
    const { instance, account } = random.pick(known);
    const store = cluster.actors.instancesOf(edge.process);
    const share = random.unit();
    const plan = await planned(cluster, edge, () => planOf(store, instance, share));
    if (plan !== undefined) await trim(cluster, history, edge, { instance, account }, plan);
  }
}

/** Plans a trim; undefined if no row is to be trimmed or the store is unavailable. */
async function planned(
  { world }: SimulatedCluster,
  edge: SimulatedEdge,
  plan: () => Promise<Plan | undefined>,
): Promise<Plan | undefined> {
  try {
    return await patiently(world, edge, plan);
  } catch (error) {
    if (error instanceof Fault || error instanceof CtlError) return undefined;
    throw error;
  }
}

async function planOf(
  store: InstanceStore,
  instance: string,
  share: number,
): Promise<Plan | undefined> {
  const head = await store.readHead(instance);
  if (head === undefined || head.deletedAtMs !== undefined) return undefined;
  const { history: below } = trimmedOf(head);
  const newest = below + Math.ceil((head.historyCount - below) * share);
  const count = newest - below;
  const rows = await storedHistory(store, instance, head, { newest, count });
  const cutoffMs = (rows[0]?.timestampMs ?? 0) + 1;
  const floor = await trimPlan(store, instance, head, { cutoffMs, nowMs: cutoffMs });
  if (floor === undefined) return undefined;
  const gone = { newest: floor.history, count: floor.history - below };
  const marks = (await storedHistory(store, instance, head, gone)).map(({ contextJson }) =>
    String(JSON.parse(contextJson).mark),
  );
  return marks.length === gone.count ? { floor, marks } : undefined;
}

async function trim(
  { world }: SimulatedCluster,
  history: History,
  edge: SimulatedEdge,
  { instance, account }: Pick<Call, 'instance' | 'account'>,
  { floor, marks }: Plan,
): Promise<void> {
  const requested = { kind: 'trim', marks } as const;
  const fields = { requested, account, instance, ifMatch: undefined, invokedMs: world.nowMs };
  const call = history.begin(fields);
  world.note(`op ${call.id} trim ${instance} up to ${floor.history}`);
  call.outcome = await patiently(world, edge, () => asked(edge, call, floor)).catch(outcomeOfError);
  call.endedMs = world.nowMs;
  world.note(`op ${call.id} ${instance} ends: ${call.outcome.kind}`);
}

async function asked(edge: SimulatedEdge, call: Call, floor: Floor): Promise<Outcome> {
  const { body } = await edge.engine.ask({
    accountId: call.account,
    instanceId: call.instance,
    callId: 0,
    deadlineAtMs: edge.process.clock.wallMs() + CALL_TIMEOUT_MS_MAX,
    idempotency: undefined,
    isReplayOnly: false,
    ifMatch: undefined,
    command: { kind: 'trim', ...floor },
  });
  const { data } = JSON.parse(Buffer.from(body).toString());
  // A floor that is not new may come from an earlier attempt of this call.
  return data.is_new === true ? { kind: 'answered', seen: NOTHING_SEEN } : { kind: 'unknown' };
}
