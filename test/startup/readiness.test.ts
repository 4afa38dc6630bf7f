import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { freePort } from '#deploy/local/servers/free-port';
import { adminClient, adminService } from '#grpc/admin';
import { serveGrpc } from '#grpc/grpc-server';
import { drainReporter } from '#startup/node';
import { openFoundation, serveOperators } from '#startup/process/dependencies';
import { Waits } from '#startup/process/lifetime';
import { systemClock } from '#stdlib/clock';
import { runMain } from '#test/support/process-run';
import { noteLogger } from '#test/support/test-logger';

/** Status and body of a readiness probe. */
async function asked(address: string): Promise<readonly [number, string]> {
  const response = await fetch(`${address}/health/ready`);
  return [response.status, await response.text()];
}

const unready = suite('a process');

unready('that is not ready reports its waits and its shutdown in the probe', async () => {
  const config = readConfig({ SERVICE_METRICS_PORT: '0' });
  await using foundation = await openFoundation(config, 'edge');
  await using operators = await serveOperators(config, foundation);
  const { address } = operators;
  assert.equal(await asked(address), [503, 'not ready\n']);
  const { promise, resolve } = Promise.withResolvers<string>();
  const both = [
    foundation.waits.during(() => 'one', promise),
    foundation.waits.during(() => 'another', promise),
  ];
  assert.equal(await asked(address), [503, 'not ready\nwaiting for one\nwaiting for another\n']);
  resolve('there');
  assert.equal(await Promise.all(both), ['there', 'there']);
  assert.equal(await asked(address), [503, 'not ready\n']);
  const ready = operators.ready();
  assert.equal(await asked(address), [200, 'ready\n']);
  ready[Symbol.dispose]();
  assert.equal(await asked(address), [503, 'not ready\nclosing\n']);
});

// Report 33: Readiness of an edge said "ready" without a word while its bus was away.
unready('that is ready reports the start of an outage of its dependency in the probe', async () => {
  const config = readConfig({ SERVICE_METRICS_PORT: '0', SERVICE_LOG_LEVEL: 'silent' });
  await using foundation = await openFoundation(config, 'edge');
  await using operators = await serveOperators(config, foundation);
  using _ = operators.ready();
  const bus = foundation.dependencies.watch('NATS', 'nats:4222');
  bus.lost('the server is away');
  const [status, text] = await asked(operators.address);
  assert.is(status, 200);
  assert.match(text, /^ready\nNATS at nats:4222 has not answered since \d{4}-.*Z\n$/);
  bus.answered();
  assert.equal(await asked(operators.address), [200, 'ready\n']);
});

// Report 35: A drained node logged nothing, and its readiness probe did not show the drain.
unready('that is drained reports the time and the requester, and logs the drain once', async () => {
  const config = readConfig({ SERVICE_METRICS_PORT: '0', SERVICE_LOG_LEVEL: 'silent' });
  await using foundation = await openFoundation(config, 'engine');
  await using operators = await serveOperators(config, foundation);
  using _ = operators.ready();
  const lines: string[] = [];
  const logger = noteLogger((line) => void lines.push(line));
  const onDrain = drainReporter({ ...foundation, logger }, operators);
  const drain = async () => ({ incarnation: 'life-1', openShards: 3 });
  const target = { identity: () => 'life-1', drain };
  const services = [adminService(target, undefined, onDrain)];
  await using server = await serveGrpc({ listen: '127.0.0.1:0', services });
  const node = adminClient(server.address, { timeoutMs: 2_000, clock: systemClock });
  await node.drain('ada\n@example.com');
  await node.drain('eve');
  assert.equal(lines, [
    'leaving: this node moves its shards to other nodes requestedBy=ada?@example.com',
  ]);
  const [status, text] = await asked(operators.address);
  assert.is(status, 200);
  assert.match(text, /^ready\nleaving since \S+Z: drained by ada\?@example\.com; /);
});

unready('that waits for a dependency stops waiting when the dependency fails', async () => {
  const waits = new Waits();
  const failed = waits.during(() => 'one', Promise.reject(new Error('refused'))).catch(() => 'no');
  assert.equal(waits.lines, ['waiting for one']);
  assert.is(await failed, 'no');
  assert.equal(waits.lines, []);
});

// Report 36: No metric, option or command showed the release of a process.
unready('has a metric with its release and role', async () => {
  const config = readConfig({ SERVICE_METRICS_PORT: '0', SERVICE_LOG_LEVEL: 'silent' });
  await using foundation = await openFoundation(config, 'edge');
  await using operators = await serveOperators(config, foundation);
  const text = await (await fetch(`${operators.address}/metrics`)).text();
  assert.match(text, /^identity_engine_build_info\{version="\d+\.\d+\.\d+",role="edge"\} 1$/m);
});

unready('that waits for engine and limiter names both in the probe', async () => {
  const [metrics, engine, limiter] = [await freePort(), await freePort(), await freePort()];
  const run = runMain(['edge'], {
    SERVICE_METRICS_PORT: `${metrics}`,
    SERVICE_ENGINE_ADDRESS: `127.0.0.1:${engine}`,
    SERVICE_LIMITER_ADDRESS: `127.0.0.1:${limiter}`,
    SERVICE_CLUSTER_SECRET: 'the secret of this test',
  });
  await run.says(/waiting for/);
  const [status, text] = await asked(`http://127.0.0.1:${metrics}`);
  assert.is(status, 503);
  const missing = `the engine at 127.0.0.1:${engine} and the limiter at 127.0.0.1:${limiter}`;
  assert.is(text, `not ready\nwaiting for ${missing}\n`);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
});

unready.run();
