import { once } from 'node:events';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Caller, newCaller, send } from '#test/support/calls/caller';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { metricValues } from '#test/support/metric-values';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';
import type { Service } from '#test/support/servers/service';

/** Variables that record all traces, and name a collector that does not exist. */
const TRACED = { SERVICE_OTLP_ENDPOINT: 'http://127.0.0.1:9', SERVICE_TRACE_RATIO: '1' };

/** Number of concurrent calls of each kind. */
const AT_ONCE = 20;

/** Maximum time of a call after its caller disconnects, in milliseconds: twice its deadline. */
const ENDED_MS_MAX = 20_000;

const traced = suite('the spans of a service that records every request');

let limiter: ProcessRun;
let engine: ProcessRun;
let edge: ProcessRun;
let service: Service;
let caller: Caller;
let ids: string[] = [];
let seconds = 0;

traced.before(async () => {
  limiter = runMain(['limiter'], TRACED);
  engine = runMain(['engine'], TRACED);
  await Promise.all([limiter.says(/ready/), engine.says(/ready/)]);
  edge = runMain(['edge'], {
    ...TRACED,
    SERVICE_CLUSTER_SECRET: 'the secret of this test',
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
    SERVICE_LIMITER_ADDRESS: addressIn(limiter, 'grpc'),
    SERVICE_ENGINE_ADDRESS: addressIn(engine, 'grpc'),
  });
  await edge.says(/ready/);
  const [api, adminUrl] = [addressIn(edge, 'api'), addressIn(limiter, 'admin')];
  service = { api, origin: new URL(api).origin, adminUrl } as Service;
  caller = await newCaller(service);
  ids = await Promise.all(Array.from({ length: AT_ONCE }, () => createInstance(caller)));
});
traced.after(async () => {
  for (const { child, ended } of [edge, engine, limiter]) {
    child.kill('SIGTERM');
    await ended;
  }
});

/** Resolves when no process has an open span. */
async function noneOpen(runs: readonly ProcessRun[]): Promise<void> {
  const untilMs = performance.now() + ENDED_MS_MAX;
  for (const run of runs) {
    for (let open = Number.NaN; open !== 0; ) {
      open = (await metricValues({ metricsUrl: addressIn(run, 'metrics') })).get(
        'trace_spans_open',
      ) as number;
      assert.ok(performance.now() < untilMs, `${open} are open: ${run.stdout()}`);
    }
  }
}

const observed = (id: string) => {
  seconds += 2;
  return caller.send('POST', `/instances/${id}/process`, { json: observationAt(seconds) });
};

/** Sends the given share of a request, and disconnects before the answer. */
async function leaves(share: number): Promise<void> {
  const body = JSON.stringify(observationAt(0));
  const request = [
    `POST /v1/instances/${ids[0]}/process HTTP/1.1`,
    'Host: here',
    `Authorization: Bearer ${caller.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  const { hostname, port } = new URL(service.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  await new Promise((sent) => socket.write(request.slice(0, request.length * share), sent));
  socket.destroy();
}

traced('all end, including spans of refused and failed calls', async () => {
  await Promise.all(ids.map(observed));
  const refused = await Promise.all([
    caller.send('GET', '/instances/inst_0000000000000000'),
    caller.send('POST', `/instances/${ids[0]}/process`, { json: { mode_target: 'NONE' } }),
    caller.send('POST', `/instances/${ids[0]}/process`, { body: '{' }),
    caller.send('PUT', '/instances', { json: {} }),
    send(service, 'GET', '/instances', { headers: { authorization: 'Bearer unknown' } }),
  ]);
  assert.equal(
    refused.map(({ status }) => status),
    [404, 422, 400, 404, 401],
  );
  for (const { headers } of refused) assert.match(headers.get('traceparent') ?? '', /-01$/);
  await noneOpen([edge, engine, limiter]);
});

traced('all end even if callers disconnect early', async () => {
  for (const share of [0.5, 0.95, 1]) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => leaves(share)));
  }
  await noneOpen([edge, engine, limiter]);
});

traced('all end even if the engine is killed meanwhile', async () => {
  const calls = ids.map(async (id) => {
    let status = 200;
    while (status === 200) status = (await observed(id)).status;
    return status;
  });
  engine.child.kill('SIGKILL');
  const statuses = await Promise.all(calls);
  assert.equal(
    statuses.filter((status) => status !== 503),
    [],
  );
  await noneOpen([edge, limiter]);
});

traced.run();
