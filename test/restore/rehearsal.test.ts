import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { PORTS_PER_CLUSTER } from '#deploy/local/cluster-plan';
import { freeBlock } from '#deploy/local/free-port';
import { printNothing } from '#deploy/local/progress';
import { type Rehearsal, rehearse } from '#test/restore/rehearsal';
import { cassandraOrSkip } from '#test/support/real-servers';

/* A small `make restore-rehearsal`, with a Cassandra and a NATS of its own: the first test
 * is the run, the others look at its figures. */

const { suite } = cassandraOrSkip();

// These Cassandras live for seconds, so they need not compile well, only soon.
process.env['JAVA_TOOL_OPTIONS'] = '-XX:TieredStopAtLevel=1';

const SIZE = {
  instances: 40,
  workers: 8,
  seconds: { first: 4, second: 4, third: 3 },
  quota: 200,
};

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-restore-'));
let run: Rehearsal;

const restored = suite('a cluster that was killed and restored to a moment');

restored.after(() => rmSync(folder, { recursive: true, force: true }));

restored('serves again', async () => {
  const ports = await freeBlock(PORTS_PER_CLUSTER, 20_000, 21_000);
  run = await rehearse({ folder, ports, nodes: 1, print: printNothing }, SIZE);
});

restored('has what was acknowledged before it, nothing of later, and logs no error', () => {
  assert.equal(run.findings.lines, []);
});

restored('has it from the log too, and the moment was before the crash', () => {
  const { observations, written, segments } = run;
  assert.ok(segments.archived > 0 && segments.marked > 0, JSON.stringify(segments));
  assert.ok(written.atSnapshot < observations, `${observations} after ${written.atSnapshot}`);
  assert.ok(observations < written.acknowledged, `${observations} of ${written.acknowledged}`);
});

restored('has every instance as its history makes it', () => {
  const { busy, bound } = run.written;
  assert.is(run.verified, busy.instances.length + bound.instances.length);
});

restored('grants the rest of a quota and no more', () => {
  assert.ok(run.granted > 0);
  assert.ok(run.stored <= SIZE.quota, `${run.stored} stored`);
});

restored.run();
