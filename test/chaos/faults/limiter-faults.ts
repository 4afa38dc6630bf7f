import { setTimeout as sleep } from 'node:timers/promises';
import { checkCountsGoOn } from '#test/chaos/checks/charges';
import { evenMeterOwners } from '#test/chaos/faults/meter-owners';
import { usagesOf } from '#test/chaos/load/account-usage';
import type { Scene } from '#test/chaos/scene';

/** Time until engines have applied the calls that were admitted before a kill, in milliseconds. */
const ADMITTED_MS = 1_000;

/** Polling interval for a killed process, in milliseconds. */
const POLL_EVERY_MS = 10;

/** Timeout for reading an engine's metrics, in milliseconds. */
const ANSWER_MS_MAX = 1_000;

/** Time after a takeover until all edges have received the new owners, in milliseconds. */
const LEARNT_MS = 1_000;

/**
 * Waits until the limiter owns an equal share of the shards, removes the limiter with `remove`, and
 * records the outage. `remove` must resolve when other limiters serve the shards.
 */
export async function withoutLimiter(
  scene: Scene,
  limiter: string,
  remove: () => Promise<void>,
): Promise<void> {
  const ownerOf = await evenMeterOwners(scene.cluster);
  const accounts = new Set(scene.accounts.filter((id) => ownerOf(id) === limiter));
  await remove();
  const backMs = performance.now();
  const fromMs = scene.disturbances.at(-1)?.fromMs ?? backMs;
  await sleep(LEARNT_MS);
  const toMs = performance.now();
  const cyclesMeanwhile = undefined;
  scene.outages.push({ limiters: [limiter], accounts, fromMs, backMs, toMs, cyclesMeanwhile });
}

/**
 * Kills every limiter and waits until restarted limiters serve every shard. Reports observations
 * that engines apply without a limiter, and usage counts that decrease.
 */
export async function withoutEveryLimiter(scene: Scene): Promise<void> {
  const { cluster, accounts, findings } = scene;
  const limiters = scene.named('limiter');
  const usages = await usagesOf(cluster.plan.adminUrl, accounts);
  const killed = new Map(limiters.map((name) => [name, cluster.pidOf(name)]));
  let cyclesMeanwhile = 0;
  const backMs = await scene.disturb(`kill -9 ${limiters.join(' ')}`, async () => {
    for (const name of limiters) scene.kill(name);
    await sleep(ADMITTED_MS);
    const before = await cyclesApplied(scene);
    while (!limiters.some((name) => isStartedAgain(cluster.pidOf(name), killed.get(name)))) {
      await sleep(POLL_EVERY_MS);
    }
    const startedMs = performance.now();
    cyclesMeanwhile = (await cyclesApplied(scene)) - before;
    return startedMs;
  });
  const fromMs = scene.disturbances.at(-1)?.fromMs ?? backMs;
  if (cyclesMeanwhile > 0) {
    findings.add(`engines applied ${cyclesMeanwhile} observations while no limiter was running`);
  }
  await scene.served();
  await sleep(LEARNT_MS);
  checkCountsGoOn(usages, await usagesOf(cluster.plan.adminUrl, accounts), findings);
  const toMs = performance.now();
  const all = { limiters, accounts: new Set(accounts) };
  scene.outages.push({ ...all, fromMs, backMs, toMs, cyclesMeanwhile });
}

function isStartedAgain(pid: number | undefined, killed: number | undefined): boolean {
  return pid !== undefined && pid !== killed;
}

/** Number of observations that all engines have applied since they started, from the metrics. */
async function cyclesApplied({ cluster }: Scene): Promise<number> {
  const engines = cluster.plan.processes.filter(({ kind }) => kind === 'engine');
  const texts = await Promise.all(
    engines.map(async ({ operatorsPort }) => {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const response = await fetch(`http://127.0.0.1:${operatorsPort}/metrics`, { signal });
      return response.text();
    }),
  );
  const counts = texts.flatMap((text) => [
    ...text.matchAll(/^identity_cycles_total\{[^}]*\} (\d+)$/gm),
  ]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
