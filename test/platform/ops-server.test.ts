import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '#platform/metrics';
import { serveOps } from '#platform/ops-server';

const readiness = suite('the readiness probe');

for (const [isReady, notes, status, text] of [
  [true, [], 200, 'ready\n'],
  [true, ['a file is of no use'], 200, 'ready\na file is of no use\n'],
  [false, [], 503, 'not ready\n'],
  [false, ['waiting for NATS', 'and more'], 503, 'not ready\nwaiting for NATS\nand more\n'],
] as const) {
  readiness(`answers ${status} and the notes, a line each (${notes.length})`, async () => {
    const where = { host: '127.0.0.1', port: 0, metrics: createMetrics() };
    await using server = await serveOps({ ...where, isReady: () => isReady, notes: () => notes });
    const response = await fetch(`${server.address}/health/ready`);
    assert.equal([response.status, await response.text()], [status, text]);
  });
}

readiness.run();
