import { once } from 'node:events';
import { get } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '#telemetry/metrics';
import { serveOps } from '#telemetry/ops-server';

const readiness = suite('the readiness probe');

for (const [isReady, notes, status, text] of [
  [true, [], 200, 'ready\n'],
  [true, ['a file is not usable'], 200, 'ready\na file is not usable\n'],
  [false, [], 503, 'not ready\n'],
  [false, ['waiting for NATS', 'and more'], 503, 'not ready\nwaiting for NATS\nand more\n'],
] as const) {
  readiness(`answers ${status} and lists its ${notes.length} notes, one per line`, async () => {
    const where = { host: '127.0.0.1', port: 0, metrics: createMetrics() };
    await using server = await serveOps({
      ...where,
      names: [],
      isReady: () => isReady,
      notes: () => notes,
    });
    const response = await fetch(`${server.address}/health/ready`);
    assert.equal([response.status, await response.text()], [status, text]);
  });
}

const names = suite('the port for metrics and probes');

names('keeps idle connections open for longer than its clients do', async () => {
  const where = { host: '127.0.0.1', port: 0, metrics: createMetrics(), names: [] };
  await using server = await serveOps({ ...where, isReady: () => true, notes: () => [] });
  const response = await fetch(`${server.address}/health/live`);
  await response.text();
  assert.is(response.headers.get('keep-alive'), 'timeout=72');
});

/** Status of a request with this `Host` header, or without the header if undefined. */
async function statusFor(address: string, host: string | undefined): Promise<number | undefined> {
  const headers = host === undefined ? {} : { host };
  const asked = get(`${address}/metrics`, { headers, setHost: false, agent: false });
  const [response] = await once(asked, 'response');
  response.resume();
  return response.statusCode;
}

// Report 15: a web page could read the metrics by DNS rebinding: its name resolved to this machine.
names('answers only to its own addresses and names', async () => {
  for (const [host, wanted] of [
    [
      '127.0.0.1',
      {
        '127.0.0.1:9464': 200,
        localhost: 200,
        '[::1]:9464': 200,
        'evil.example': 403,
        edge: 403,
        '10.1.2.3': 403,
      },
    ],
    [
      '0.0.0.0',
      {
        '10.1.2.3:9464': 200,
        '[2001:db8::1]:9464': 200,
        edge: 200,
        'metrics.example:9464': 200,
        'evil.example': 403,
        '127.0.0.1.evil.example': 403,
      },
    ],
  ] as const) {
    const options = { host, port: 0, metrics: createMetrics(), names: ['metrics.example'] };
    await using server = await serveOps({ ...options, isReady: () => true, notes: () => [] });
    const address = server.address.replace('0.0.0.0', '127.0.0.1');
    for (const [name, status] of Object.entries(wanted)) {
      assert.is(await statusFor(address, name), status, `${name} at ${host}`);
    }
  }
});

for (const group of [readiness, names]) group.run();
