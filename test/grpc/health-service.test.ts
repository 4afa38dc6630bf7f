import * as grpc from '@grpc/grpc-js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { engineProtocol } from '#grpc/engine-codec';
import { frameService } from '#grpc/frame-server';
import {
  type HealthCheckResponse,
  HealthClient,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '#grpc/gen/grpc/health/v1/health';
import { serveGrpc } from '#grpc/grpc-server';
import * as peers from '#test/grpc/wire-peers';

const INSECURE = grpc.credentials.createInsecure();

async function served() {
  const services = [frameService(engineProtocol, { ask: () => peers.engineAnswer('ok') })];
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const health = suite('when the health of a server is requested');

function check(client: HealthClient, service: string) {
  return new Promise<HealthCheckResponse['status'] | string>((resolve) => {
    client.check({ service }, (error, response) => resolve(error?.message ?? response.status));
  });
}

health('the server and its services are SERVING, and unknown names are NOT_FOUND', async () => {
  await using server = await served();
  const client = new HealthClient(server.address, INSECURE);
  assert.is(await check(client, ''), ServingStatus.SERVING);
  assert.is(await check(client, 'identity_engine.v1.Engine'), ServingStatus.SERVING);
  assert.match(`${await check(client, 'no.such.Service')}`, /NOT_FOUND/);
  client.close();
});

health('a watcher is notified when the server stops', async () => {
  const server = await served();
  const client = new HealthClient(server.address, INSECURE);
  const heard: number[] = [];
  const watch = client.watch({ service: '' });
  watch.on('error', () => undefined);
  watch.on('data', ({ status }: HealthCheckResponse) => heard.push(status));
  await peers.eventually('the first status', () => heard.length === 1);
  await server[Symbol.asyncDispose]();
  assert.equal(heard, [ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  client.close();
});

health.run();
