import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { LightLoad } from '#test/observe/light-load';
import { watchedCluster } from '#test/observe/watched-cluster';

/*
 * Checks that no alert fires on a healthy local cluster: runs a light load and prints each alert
 * that fires. The exit status is 1 if an alert fired.
 * Usage: node test/observe/quiet.ts [--minutes 15]  (after make cluster and make observe)
 */

/** Polling interval of Alertmanager, in milliseconds. */
const POLL_EVERY_MS = 5_000;

/** Rate of the load, in calls per second. A laptop can handle this load. */
const CALLS_PER_SECOND = 40;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '15' } } });
const watched = watchedCluster();
await using load = new LightLoad(watched.target);
await load.begin(CALLS_PER_SECOND);
const endMs = performance.now() + Number(values.minutes) * 60_000;
const seen = new Set<string>();
while (performance.now() < endMs) {
  for (const name of await watched.firing()) {
    if (!seen.has(name)) console.log(`${new Date().toISOString()} alert: ${name}`);
    seen.add(name);
  }
  await sleep(POLL_EVERY_MS);
}
console.log(`${values.minutes} min, calls by status: ${JSON.stringify(load.statuses)}`);
console.log(seen.size === 0 ? 'no alert fired' : `alerts: ${[...seen].join(', ')}`);
process.exitCode = seen.size === 0 ? 0 : 1;
