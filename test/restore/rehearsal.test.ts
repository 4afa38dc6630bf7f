import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { PORTS_PER_CLUSTER } from '#deploy/local/cluster-plan';
import { printNothing } from '#deploy/local/progress';
import { freeBlock } from '#deploy/local/servers/free-port';
import { type Rehearsal, rehearse } from '#test/restore/rehearsal';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

/*
 * A small `make restore-rehearsal` with its own Cassandra and NATS. The first test runs the
 * rehearsal, and the other tests check its result.
 */

const { suite } = cassandraOrSkip();

// These Cassandra nodes run for seconds, so a fast start matters more than optimized code.
process.env['JAVA_TOOL_OPTIONS'] = '-XX:TieredStopAtLevel=1';

const SIZE = {
  instances: 40,
  workers: 8,
  seconds: { first: 4, second: 4, third: 3 },
  quota: 200,
};

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-restore-'));
let run: Rehearsal;

const restored = suite('a killed cluster that is restored to a point in time');

restored.after(() => rmSync(folder, { recursive: true, force: true }));

restored('serves again', async () => {
  const ports = await freeBlock(PORTS_PER_CLUSTER, 20_000, 21_000);
  run = await rehearse({ folder, ports, nodes: 1, print: printNothing }, SIZE);
});

restored('has all earlier observations, no later observation, and no logged error', () => {
  assert.equal(run.findings.lines, []);
});

restored('has data from the commit logs, and the point in time precedes the crash', () => {
  const { observations, written, segments } = run;
  assert.ok(segments.archived > 0 && segments.marked > 0, JSON.stringify(segments));
  assert.ok(written.atSnapshot < observations, `${observations} after ${written.atSnapshot}`);
  assert.ok(observations < written.acknowledged, `${observations} of ${written.acknowledged}`);
});

restored('has heads that follow from their histories', () => {
  const { busy, bound } = run.written;
  assert.is(run.verified, busy.instances.length + bound.instances.length);
});

restored('grants further calls, and no more than the quota', () => {
  assert.ok(run.granted > 0);
  assert.ok(run.stored <= SIZE.quota, `${run.stored} stored`);
});

restored.run();
