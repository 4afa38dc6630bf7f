import { setTimeout as sleep } from 'node:timers/promises';
import { askReady } from '#deploy/local/readiness';
import { fillDiskOf } from '#test/chaos/full-disk';
import type { Scene } from '#test/chaos/scene';

/** The killed server counts as ready until its end has been noticed. Milliseconds. */
const STORE_AWAY_MS = 2_000;

/** How long a Cassandra is left without room. */
export const FULL_STORE_MS = 5_000;
const ASK_EVERY_MS = 200;

/** Kills a Cassandra, and fulfils when its successor answers. */
export async function killStore(scene: Scene, name: string): Promise<void> {
  scene.kill(name);
  await sleep(STORE_AWAY_MS);
  await answers(scene, name);
}

/** Leaves a Cassandra without room for 5 s, then kills it; fulfils when its successor answers. */
export async function fillStore(scene: Scene, name: string): Promise<void> {
  await fillUpStore(scene, name);
  await sleep(FULL_STORE_MS);
  await killStore(scene, name);
}

/** Leaves a Cassandra without room until it is killed. */
export async function fillUpStore(scene: Scene, name: string): Promise<void> {
  const pid = scene.cluster.pidOf(name);
  if (pid === undefined) throw new Error(`there is no ${name}`);
  await fillDiskOf(pid);
}

/** Fulfils when this process of the cluster answers. */
export async function answers(scene: Scene, name: string): Promise<void> {
  const planned = scene.plannedOf(name);
  const isReady = () =>
    askReady(planned).then(
      () => true,
      () => false,
    );
  while (!(await isReady())) await sleep(ASK_EVERY_MS);
}
