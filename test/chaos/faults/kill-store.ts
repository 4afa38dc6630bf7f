import { setTimeout as sleep } from 'node:timers/promises';
import { askReady } from '#deploy/local/processes/readiness';
import { fillDiskOf } from '#test/chaos/faults/full-disk';
import type { Scene } from '#test/chaos/scene';

/** Time until the supervisor has noticed the end of a killed server, in milliseconds. */
const STORE_AWAY_MS = 2_000;

/** Time without disk space until a Cassandra node is killed, in milliseconds. */
export const FULL_STORE_MS = 5_000;
const POLL_EVERY_MS = 200;

/** Kills a Cassandra node. Resolves when the restarted node answers. */
export async function killStore(scene: Scene, name: string): Promise<void> {
  scene.kill(name);
  await sleep(STORE_AWAY_MS);
  await answers(scene, name);
}

/**
 * Takes the disk space of a Cassandra node for 5 s, then kills the node. Resolves when the
 * restarted node answers.
 */
export async function fillStore(scene: Scene, name: string): Promise<void> {
  await fillUpStore(scene, name);
  await sleep(FULL_STORE_MS);
  await killStore(scene, name);
}

/** Takes the disk space of a Cassandra node until the node is killed. */
export async function fillUpStore(scene: Scene, name: string): Promise<void> {
  const pid = scene.cluster.pidOf(name);
  if (pid === undefined) throw new Error(`${name} is not running`);
  await fillDiskOf(pid);
}

/** Resolves when a process answers. */
export async function answers(scene: Scene, name: string): Promise<void> {
  const planned = scene.plannedOf(name);
  const isReady = () =>
    askReady(planned).then(
      () => true,
      () => false,
    );
  while (!(await isReady())) await sleep(POLL_EVERY_MS);
}
