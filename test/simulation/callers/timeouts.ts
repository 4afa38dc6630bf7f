import { Fault } from '#errors/fault';
import type { SimulatedEdge } from '#test/simulation/simulated/edge';
import type { World } from '#test/simulation/world';

/** Caller's timeout for an edge in milliseconds, above the maximum duration of a call. */
const PATIENCE_MS = 12_000;

/** Waits for an edge that may die or never answer. */
export function patiently<Answer>(
  world: World,
  edge: SimulatedEdge,
  ask: () => Answer | Promise<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const gone = () =>
      reject(new Fault('service_unavailable', 'the edge is gone', { isOutcomeUnknown: true }));
    const death = edge.process.onDeath(gone);
    const timer = world.after(PATIENCE_MS, gone);
    const asked = async () => ask();
    edge.process.deliver(() => {
      asked()
        .then(resolve, reject)
        .finally(() => {
          timer[Symbol.dispose]();
          death[Symbol.dispose]();
        });
    });
  });
}
