import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { processFolder } from '#deploy/local/cluster-plan';
import { stopCluster } from '#deploy/local/cluster-start';
import { endLeftovers } from '#deploy/local/processes/leftovers';
import { startNats } from '#deploy/local/servers/nats-server';
import { runningServer } from '#deploy/local/servers/server-record';
import { natsOrSkip } from '#test/support/servers/real-servers';

const { suite } = natsOrSkip();

const leftovers = suite('the processes of a killed supervisor');

for (const [how, end] of [
  ['before the next start', endLeftovers],
  ['by `make cluster-down`', stopCluster],
] as const) {
  leftovers(`are stopped ${how}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'identity-engine-left-'));
    const place = { folder: processFolder(folder, 'nats'), logFolder: join(folder, 'logs') };
    await using nats = await startNats(place);
    try {
      assert.ok(await end(folder));
      assert.is(runningServer(place.folder), undefined);
      await nats.ended;
      assert.not.ok([await end(folder)].flat().some(Boolean), 'a second call stops no process');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

leftovers.run();
