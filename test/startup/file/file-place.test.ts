import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newDocumentedCaller, observationAt } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import { onFile, startStandalone } from '#test/support/servers/service';
import { soon } from '#test/support/soon';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-place-'));
const path = join(folder, 'identity-engine.db');

const place = suite('a service whose file');

// Report 26: every call was answered 200, and readiness stayed green, for a file that was moved away.
place(
  'is moved away answers 503, is not ready, logs the next step, and continues after the return',
  async () => {
    await using service = await startStandalone(onFile(path));
    const caller = await newDocumentedCaller(service);
    const id = await caller.createInstance();
    const observe = async (second: number) =>
      (await caller.send('POST', `/instances/${id}/process`, { json: observationAt(second) }))
        .status;
    const probe = new URL('/health/ready', service.metricsUrl);
    const ready = async () => await fetch(probe, { headers: { connection: 'close' } });
    assert.equal([await observe(0), (await ready()).status], [200, 200]);
    renameSync(path, `${path}.moved`);
    const underWay = observe(1);
    await soon('the end of readiness', async () => (await ready()).status === 503);
    assert.match(await (await ready()).text(), /identity-engine\.db was moved or removed while/);
    assert.is(await observe(2), 503);
    assert.match(service.log(), /all changes are refused; put the file back with its -wal/);
    renameSync(`${path}.moved`, path);
    await soon('readiness', async () => (await ready()).status === 200);
    // Either the file has the effect of the call in flight, or the outcome of the call is unknown.
    assert.ok([200, 503].includes(await underWay));
    let second = 3;
    await soon('an answer', async () => (await observe(second++)) === 200);
  },
);

// Report 27: the start ended with "internal error" and named neither file nor cause.
place('has a damaged page does not start, and names the page in one line', async () => {
  const bytes = readFileSync(path);
  // First page of the schema's first table.
  bytes.fill(0xff, 4_096, 8_192);
  writeFileSync(path, bytes);
  rmSync(`${path}-wal`, { force: true });
  const run = runMain(['standalone'], onFile(path));
  assert.is(await run.ended, 1);
  const line = run.stderr();
  assert.match(line, /^configuration: SERVICE_SQLITE_FILE: \S+\.db: SQLITE_CORRUPT: .*\n$/, line);
  rmSync(folder, { recursive: true });
});

place.run();
