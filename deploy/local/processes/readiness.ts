import {
  type ClusterPlan,
  hostAndPort,
  type PlannedProcess,
  type ProcessKind,
} from '#deploy/local/cluster-plan';
import { cassandraVersionAt } from '#deploy/local/servers/cassandra-answer';
import { natsVersionAt } from '#deploy/local/servers/nats-answer';

/** Timeout of a readiness check, in ms. */
const ANSWER_MS_MAX = 1_000;

/** Kinds of processes with an HTTP address. */
const SPEAKS_HTTP: readonly ProcessKind[] = ['edge', 'console', 'balancer'];

/** Client address of a process. */
export function addressOf(planned: PlannedProcess): string {
  const { kind } = planned;
  const address = hostAndPort(planned);
  if (kind === 'nats') return `nats://${address}`;
  return SPEAKS_HTTP.includes(kind) ? `http://${address}` : address;
}

/** Resolves if a process is ready now; otherwise rejects within a few seconds. */
export async function askReady(planned: PlannedProcess): Promise<void> {
  const address = addressOf(planned);
  const { kind, operatorsPort } = planned;
  if (kind === 'nats') await natsVersionAt(address);
  else if (kind === 'cassandra') await cassandraVersionAt(address);
  // The balancer. Any answer proves that an edge is reachable, also a refusal without a key.
  else if (operatorsPort === undefined) await answerOf(`${address}/v1/personas`);
  else {
    const { ok } = await answerOf(`http://127.0.0.1:${operatorsPort}/health/ready`);
    if (!ok) throw new Error(`${planned.name} is not ready`);
  }
}

/** Number of shards that the plan's engines and limiters report as served. */
export async function shardsServed({ processes }: Pick<ClusterPlan, 'processes'>): Promise<number> {
  const nodes = processes.filter(({ kind }) => kind === 'engine' || kind === 'limiter');
  const counts = nodes.map(async ({ operatorsPort }) => {
    const { text } = await answerOf(`http://127.0.0.1:${operatorsPort}/metrics`);
    return Number(/^shards_owned\{[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  });
  const settled = await Promise.allSettled(counts);
  return settled.reduce((sum, count) => sum + (count.status === 'fulfilled' ? count.value : 0), 0);
}

async function answerOf(url: string): Promise<{ readonly ok: boolean; readonly text: string }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  return { ok: response.ok, text: await response.text() };
}
