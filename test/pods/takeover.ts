import { setTimeout as sleep } from 'node:timers/promises';
import type { NewAccount } from '#deploy/local/new-account';
import type { Answered, EdgeCaller } from '#test/chaos/load/edge-caller';
import type { PodScene } from '#test/pods/scene';

/** Number of instances that are called after each kill. Each engine owns about a third of them. */
const INSTANCES = 24;

/** Number of engines in the overlay. */
const ENGINES = 3;

/** Pause after a pod is ready, in ms, so that shards return to the pod before its next kill. */
const SETTLE_MS = 8_000;

/** Maximum time until an instance has a good answer, in ms. */
const ANSWER_MS_MAX = 60_000;

/** Pause before a refused call is repeated, in ms. */
const AGAIN_MS = 20;

/**
 * Kills the main process of one engine after the other, and calls all instances at once. Returns
 * the time from each kill until each instance has had a good answer, in ms. Throws if an answer is
 * neither good nor 503.
 */
export async function measureTakeovers(
  scene: PodScene,
  caller: EdgeCaller,
  account: NewAccount,
  count: number,
): Promise<readonly number[]> {
  const ids = await createInstances(caller, account);
  const times: number[] = [];
  for (let kill = 0; kill < count; kill += 1) {
    const pod = await scene.pod('engine', kill % ENGINES);
    const [main = 0] = await scene.pidsOf(pod);
    const killedMs = performance.now();
    process.kill(main, 'SIGKILL');
    await Promise.all(ids.map((id) => observe(caller, account, id)));
    times.push(performance.now() - killedMs);
    scene.print(`kill ${kill + 1} of ${count}: ${Math.round(times.at(-1) ?? 0)} ms`);
    // A new pod, because the kubelet delays the third start of a container.
    await scene.kubectl('delete', 'pod', pod.metadata.name);
    await scene.ready('engine', ENGINES);
    await sleep(SETTLE_MS);
  }
  return times;
}

async function createInstances(caller: EdgeCaller, { apiKey }: NewAccount): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < INSTANCES; index += 1) {
    const body = { name: `takeover ${index}` };
    const asked = { method: 'POST', path: '/instances', apiKey, body } as const;
    const answered = await caller.send(asked);
    if (answered.kind !== 'answer' || answered.status !== 201) {
      throw new Error(`no instance was created: ${JSON.stringify(answered)}`);
    }
    ids.push(JSON.parse(answered.body).data.id);
  }
  return ids;
}

/** Observes an instance until the answer is good. Repeats refused calls, which had no effect. */
async function observe(caller: EdgeCaller, { apiKey }: NewAccount, id: string): Promise<void> {
  const body = { mode_target: 'ORDER', signal_strength: 0.6 };
  const path = `/instances/${id}/process`;
  const endMs = performance.now() + ANSWER_MS_MAX;
  while (performance.now() < endMs) {
    const answered = await caller.send({ method: 'POST', path, apiKey, body });
    if (answered.kind === 'answer' && answered.status === 200) return;
    const isRefused = answered.kind === 'unsent' || isUnavailable(answered);
    if (!isRefused) throw new Error(`an observation failed: ${JSON.stringify(answered)}`);
    await sleep(AGAIN_MS);
  }
  throw new Error(`${id} had no good answer within ${ANSWER_MS_MAX} ms`);
}

function isUnavailable(answered: Answered): boolean {
  return answered.kind === 'answer' && answered.status === 503;
}
