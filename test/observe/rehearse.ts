import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chosenRehearsals } from '#test/observe/chosen-rehearsals';
import { LightLoad } from '#test/observe/light-load';
import type { Rehearsal } from '#test/observe/rehearsal';
import { REHEARSALS } from '#test/observe/rehearsals';
import { type WatchedCluster, watchedCluster } from '#test/observe/watched-cluster';

/*
 * Rehearses alerts: injects one fault after another into the local cluster, and prints the time
 * until Alertmanager has the expected alerts. The exit status is 1 if an alert takes longer than
 * two minutes, or if no fault was injected.
 * Usage: node test/observe/rehearse.ts [--only FailsClosed,StoreFails], after make cluster and make
 * observe. Faults that need make cluster CASSANDRA=3 are skipped on one node.
 */

/** Maximum time in ms from a fault to its alert in Alertmanager. Source: the project's targets. */
const SEEN_MS_MAX = 120_000;
const POLL_EVERY_MS = 500;

/** Maximum time until calls succeed again, in milliseconds. */
const SERVED_MS_MAX = 90_000;

const CALLS_PER_SECOND = 40;

type Seen = { readonly alert: string; readonly fault: string; readonly seenMs: number | undefined };

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const cluster = watchedCluster();
const { chosen, left } = chosenRehearsals(REHEARSALS, values.only, cluster.plan);
const seen: Seen[] = [];
{
  await using load = new LightLoad(cluster.target);
  await load.begin(CALLS_PER_SECOND);
  for (const rehearsal of chosen) seen.push(...(await rehearse(rehearsal, load)));
}
for (const { alert, fault, seenMs } of seen) {
  const when = seenMs === undefined ? 'NOT SEEN' : `${(seenMs / 1_000).toFixed(0)} s`;
  console.log(`| ${alert} | ${fault} | ${when} |`);
}
for (const line of left) console.log(`not rehearsed: ${line}`);
process.exitCode = seen.length > 0 && seen.every(({ seenMs }) => seenMs !== undefined) ? 0 : 1;

async function rehearse({ alerts, fault, provoke }: Rehearsal, load: LightLoad): Promise<Seen[]> {
  const before = await cluster.firing();
  const late = alerts.filter((alert) => before.includes(alert));
  if (late.length > 0) throw new Error(`${late} is active before the fault`);
  console.log(`${new Date().toISOString()} ${fault}`);
  const startedMs = performance.now();
  const undoing = provoke(cluster, load);
  const found = new Map<string, number>();
  while (performance.now() - startedMs < SEEN_MS_MAX && found.size < alerts.length) {
    const now = await cluster.firing().catch((): string[] => []);
    for (const alert of alerts.filter((name) => now.includes(name) && !found.has(name))) {
      found.set(alert, performance.now() - startedMs);
      console.log(`  ${alert} after ${((found.get(alert) ?? 0) / 1_000).toFixed(0)} s`);
    }
    await sleep(POLL_EVERY_MS);
  }
  const others = (await cluster.firing()).filter((name) => !alerts.includes(name));
  if (others.length > 0) console.log(`  other alerts: ${others.join(', ')}`);
  const undo = await undoing;
  await undo();
  await untilServed(cluster, load);
  return alerts.map((alert) => ({ alert, fault, seenMs: found.get(alert) }));
}

/** Resolves after ten consecutive calls have succeeded while every shard had an owner. */
async function untilServed({ query }: WatchedCluster, load: LightLoad): Promise<void> {
  const endMs = performance.now() + SERVED_MS_MAX;
  for (let good = 0; good < 10; ) {
    if (performance.now() > endMs) throw new Error('some shard is not served after the fault');
    const { status } = await load.call('GET', '/instances?limit=1');
    const [missing] = await query('sum(max by (service) (cluster_shards)) - sum(shards_owned)');
    good = status === 200 && missing?.value[1] === '0' ? good + 1 : 0;
    await sleep(POLL_EVERY_MS);
  }
}
