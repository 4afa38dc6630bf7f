import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { v8HeapOf } from '#loadtest/processes/v8-heap';
import { createMetrics } from '#telemetry/metrics';
import { liveHeapBytes } from '#test/support/garbage';

const MIB = 1_024 * 1_024;

const heap = suite("the heap usage in a process's metrics");

/** Serves a text on a free port. */
async function servingText(textOf: () => Promise<string>) {
  const server = createServer((_, response) => void textOf().then((text) => response.end(text)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.dispose]: () => void server.close() };
}

heap('consists of young and live bytes', async () => {
  const metrics = createMetrics();
  using served = await servingText(async () => (await metrics.scrape()).text);
  // Garbage of earlier test files in this process counts as live until a collection.
  liveHeapBytes();
  const before = await v8HeapOf(served.port);
  // Non-integer numbers make the array a large object with 8 bytes per number. The array has its
  // size from the beginning: an array that grows leaves copies until the next collection.
  const kept = new Array<number>(4 * MIB).fill(0.5);
  const after = await v8HeapOf(served.port);
  assert.ok(before && after && kept.length > 0);
  const grown = (after.live - before.live) / MIB;
  assert.ok(grown > 25 && grown < 80, `${grown} MiB for 32`);
  assert.ok(before.young >= MIB && after.young < 200 * MIB, `${after.young}`);
});

heap('is undefined if the metrics have no heap usage or the process has ended', async () => {
  using served = await servingText(async () => '# HELP some_other_total Others.\n');
  assert.is(await v8HeapOf(served.port), undefined);
  served[Symbol.dispose]();
  assert.is(await v8HeapOf(served.port), undefined);
});

heap.run();
