import { setTimeout as sleep } from 'node:timers/promises';
import { askReady } from '#deploy/local/processes/readiness';
import { fillDiskOf } from '#test/chaos/faults/full-disk';
import type { Scene } from '#test/chaos/scene';

/** Time until the cluster notices that the killed server has ended, in milliseconds. */
const STORE_AWAY_MS = 2_000;

/** Time without disk space before a Cassandra is killed, in milliseconds. */
export const FULL_STORE_MS = 5_000;
const ASK_EVERY_MS = 200;

/** Kills a Cassandra node; resolves when its replacement answers. */
export async function killStore(scene: Scene, name: string): Promise<void> {
  scene.kill(name);
  await sleep(STORE_AWAY_MS);
  await answers(scene, name);
}

/**
 * Leaves a Cassandra node without disk space for 5 s, then kills it. Resolves when its replacement
 * answers.
 */
export async function fillStore(scene: Scene, name: string): Promise<void> {
  await fillUpStore(scene, name);
  await sleep(FULL_STORE_MS);
  await killStore(scene, name);
}

/** Leaves a Cassandra node without disk space until it is killed. */
export async function fillUpStore(scene: Scene, name: string): Promise<void> {
  const pid = scene.cluster.pidOf(name);
  if (pid === undefined) throw new Error(`there is no ${name}`);
  await fillDiskOf(pid);
}

/** Resolves when this process of the cluster answers. */
export async function answers(scene: Scene, name: string): Promise<void> {
  const planned = scene.plannedOf(name);
  const isReady = () =>
    askReady(planned).then(
      () => true,
      () => false,
    );
  while (!(await isReady())) await sleep(ASK_EVERY_MS);
}
