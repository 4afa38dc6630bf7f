import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import type { ProcessRun } from '#test/support/process-run';
import { runMain } from '#test/support/process-run';
import { startCluster } from '#test/support/servers/cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra } = cassandraOrSkip();
const { address: nats, suite } = natsOrSkip();

/** Maximum time until a change applies on a busy machine, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Two heartbeat intervals, in milliseconds. */
const HEARD_MS = 2_000;

const [OLD, NEW] = ['the old secret of this test', 'the new secret of this test'];
const PARTS = ['edge', 'engine', 'limiter'] as const;
type Part = (typeof PARTS)[number];
const LOADED = 'credential_loaded_timestamp_seconds{use="cluster_secret"}';

const changing = suite('a cluster with a secret rotation at run time');

changing('loses no message or call, and accepts processes with only the new secret', async () => {
  if (cassandra === '') return;
  await using keyspace = await openMigratedKeyspace(cassandra);
  const folder = mkdtempSync(join(tmpdir(), 'cluster-secret-'));
  const fileOf = (part: string) => join(folder, part);
  const write = (part: string, lines: readonly string[]) => {
    writeFileSync(join(folder, 'next'), `${lines.join('\n')}\n`);
    renameSync(join(folder, 'next'), fileOf(part));
  };
  for (const part of PARTS) write(part, [OLD]);
  const place = { cassandra, keyspace: keyspace.name, nats };
  const variablesOf = (part: string) => ({ SERVICE_CLUSTER_SECRET_FILE: fileOf(part) });
  const parts = { limiters: ['l'], variables: variablesOf('engine'), variablesOf };
  await using cluster = await startCluster(place, ['a', 'b'], parts);
  const { caller, engines, limiters, edge, metric } = cluster;
  const runsOf = { edge: [edge], engine: [...engines.values()], limiter: [...limiters.values()] };
  const runs: ProcessRun[] = PARTS.flatMap((part) => runsOf[part]);
  const ids = await Promise.all(Array.from({ length: 8 }, () => createInstance(caller)));
  let cycle = 0;
  const call = async (): Promise<void> => {
    cycle += 1;
    for (const id of ids) {
      const { snapshot } = await process(caller, id, observationAt(cycle));
      assert.is(snapshot.cycle, cycle);
    }
  };
  const loadedAt = (part: Part) => Promise.all(runsOf[part].map((run) => metric(run, LOADED)));
  const steps = [[OLD, NEW], [NEW, OLD], [NEW]];
  // All roles complete a step before the next step: processes one step apart share a secret.
  for (const [part, lines] of steps.flatMap((step) => PARTS.map((each) => [each, step] as const))) {
    const before = await loadedAt(part);
    write(part, lines);
    const endMs = performance.now() + PATIENCE_MS;
    for (let isTaken = false; !isTaken; ) {
      assert.ok(performance.now() < endMs, `${part} did not load the secret in time`);
      await call();
      const now = await loadedAt(part);
      isTaken = now.every((at, index) => at > (before[index] ?? 0));
    }
    await sleep(HEARD_MS);
    await call();
  }
  for (const run of runs) assert.is(await metric(run, 'bus_dropped_total'), 0, run.stderr());
  // A new process that has only the new secret joins the cluster.
  const late = await cluster.startEngine('c');
  const nodes = runMain(['ctl', 'nodes', '--json'], cluster.variables);
  assert.is(await nodes.ended, 0, nodes.stderr());
  const heard: { service: string; node: string }[] = JSON.parse(nodes.stdout());
  const names = heard.filter(({ service }) => service !== 'edge').map(({ node }) => node);
  assert.equal(names.sort(), ['a', 'b', 'c', 'l']);
  await call();
  for (const run of [...runs, late]) assert.is(await metric(run, 'bus_dropped_total'), 0);
  rmSync(folder, { recursive: true });
});

changing.run();
