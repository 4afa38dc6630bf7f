import { shardOf } from '#cluster/shard-owners';
import { Fault } from '#errors/fault';
import type { SimulatedCluster } from '#test/simulation/simulated/cluster';
import type { SimulatedEdge } from '#test/simulation/simulated/edge';
import { Violation } from '#test/simulation/stored/version-index';
import type { World } from '#test/simulation/world';

/** Maximum time after the last fault until every shard is served, in milliseconds. */
export const SERVED_WITHIN_MS = 45_000;

/** Calls the owner of an id's shard. Resolves to true if the owner answered. */
type Question = (edge: SimulatedEdge, id: string) => Promise<boolean>;

/** Calls every shard of both services until all have answered. Resolves to the time in ms. */
export async function allServed(world: World, cluster: SimulatedCluster): Promise<number> {
  const { shardCount, limiters } = cluster.scenario;
  const startedMs = world.nowMs;
  const random = world.random.fork();
  const questions = limiters === 0 ? { engine: isRead } : { engine: isRead, limiter: isChecked };
  const served = Object.entries(questions).flatMap(([service, question]) =>
    Array.from({ length: shardCount }, async (_, shard) => {
      const id = idIn(shard, shardCount);
      while (!(await isAnswered(cluster, question, id))) {
        if (world.nowMs - startedMs > SERVED_WITHIN_MS) {
          const afterMs = world.nowMs - startedMs;
          throw new Violation(
            `no ${service} serves shard ${shard} ${afterMs} ms after the last fault`,
          );
        }
        await world.sleep(random.between(20, 60));
      }
    }),
  );
  await Promise.all(served);
  return world.nowMs - startedMs;
}

async function isAnswered(
  { edges }: SimulatedCluster,
  question: Question,
  id: string,
): Promise<boolean> {
  const [edge] = edges;
  if (edge === undefined) throw new Violation('no edge runs after the last fault');
  try {
    return await question(edge, id);
  } catch (error) {
    return error instanceof Fault && error.code === 'not_found';
  }
}

const isRead: Question = async (edge, instanceId) => {
  const question = {
    instanceId,
    callId: 0,
    idempotency: undefined,
    isReplayOnly: false,
    ifMatch: undefined,
    command: { kind: 'readSnapshot' },
  } as const;
  await edge.calls.ask({ accountId: 'absent', credential: '' }, question);
  return true;
};

/** Calls the limiter for an unknown account: even a refusal proves that the shard is served. */
const isChecked: Question = async (edge, accountId) => {
  const call = { kind: 'admit', accountId, keyDigest: '', callId: 0, callTag: 0 } as const;
  await edge.limiter.ask({ ...call, scope: 'read', cycles: 0 });
  return true;
};

/** An instance id that belongs to the shard. */
function idIn(shard: number, shardCount: number): string {
  for (let number = 0; ; number += 1) {
    const id = `inst_${number.toString(16).padStart(16, '0')}`;
    if (shardOf(id, shardCount) === shard) return id;
  }
}
