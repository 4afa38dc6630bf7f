import { Fault } from '#errors/fault';
import type { SimulatedEdge } from '#test/simulation/simulated/edge';
import type { World } from '#test/simulation/world';

/** Caller timeout in milliseconds, above the maximum call duration. */
const CALLER_TIMEOUT_MS = 12_000;

/** Calls an edge. Rejects with an unknown outcome if the edge dies or does not answer in time. */
export function patiently<Answer>(
  world: World,
  edge: SimulatedEdge,
  ask: () => Answer | Promise<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const gone = () =>
      reject(
        new Fault('service_unavailable', 'no answer from the edge', { isOutcomeUnknown: true }),
      );
    const death = edge.process.onDeath(gone);
    const timer = world.after(CALLER_TIMEOUT_MS, gone);
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
