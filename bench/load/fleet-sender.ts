/*
 * Worker thread that sends fleet calls. Separate from `bench/fleet`, because a client in the
 * measuring thread would delay the calls that this thread measures.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { FleetLoad } from '#bench/load/fleet-load';
import { timed } from '#bench/scale/rates/latencies';

/** Service to call, and the interval of the calls in milliseconds. */
export type FleetSender = {
  readonly address: string;
  readonly key: string;
  readonly intervalMs: number;
};

/** Message that pauses or resumes the calls. */
export type SenderOrder = 'pause' | 'resume';

const { intervalMs, ...service } = workerData as FleetSender;
const load = await FleetLoad.create(service);
let isPaused = true;
parentPort?.on('message', (order: SenderOrder) => {
  isPaused = order === 'pause';
});
parentPort?.postMessage('ready');
for (;;) {
  const { ms } = isPaused ? { ms: 0 } : await timed(() => load.send());
  await pause(Math.max(0, (isPaused ? intervalMs / 10 : intervalMs) - ms));
}
