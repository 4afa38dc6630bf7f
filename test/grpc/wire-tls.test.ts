import * as grpc from '@grpc/grpc-js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminService } from '#grpc/admin';
import { engineProtocol } from '#grpc/engine-codec';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { AdminService } from '#grpc/gen/identity_engine/v1/admin';
import { serveGrpc } from '#grpc/grpc-server';
import { TLS_NAME, type WireTls } from '#grpc/tls';
import { systemClock as clock } from '#stdlib/clock';
import { type Reloadable, unchanging } from '#stdlib/files';
import { incarnationAt } from '#test/grpc/admin-call';
import * as peers from '#test/grpc/wire-peers';
import { type Holder, pemOf } from '#test/support/servers/server-certificates';
import { refusalOf } from '#test/support/settled';

type Who = 'member' | 'stranger' | 'misnamed' | 'impostor' | 'plain';

/** The TLS files of a process; undefined for plain text. */
function tlsOf(who: Who): Reloadable<WireTls> | undefined {
  if (who === 'plain') return undefined;
  // The process trusts this authority, but the authority has not signed the process's certificate.
  if (who === 'impostor') {
    return unchanging({ ...filesOf('stranger'), authority: filesOf('member').authority });
  }
  return unchanging(filesOf(who));
}

function filesOf(holder: Holder): WireTls {
  const read = (file: Parameters<typeof pemOf>[1]) => Buffer.from(pemOf(holder, file));
  return { authority: read('ca.crt'), certificate: read('tls.crt'), key: read('tls.key') };
}

async function serverOf(who: Who) {
  const node = { identity: () => 'engine-1', drain: () => Promise.reject(new Error('unasked')) };
  const services = [
    frameService(engineProtocol, { ask: () => peers.engineAnswer('ok') }),
    adminService(node, () => undefined),
  ];
  return await serveGrpc({ listen: '127.0.0.1:0', services, tls: tlsOf(who), stopGraceMs: 100 });
}

const tls = suite('processes with TLS certificates');

tls('answer each other at any address if they have the same authority', async () => {
  await using server = await serverOf('member');
  const { address } = server;
  await using edge = new FrameClient(engineProtocol, { address, tls: tlsOf('member') });
  await edge.ready();
  assert.is(peers.bodyOf(await edge.ask(peers.engineCall())), 'ok');
  const name = await incarnationAt(address, {
    timeoutMs: 5_000,
    clock,
    tls: tlsOf('member'),
  });
  assert.is(name, 'engine-1');
});

for (const [asking, asked] of [
  ['plain', 'member'],
  ['stranger', 'member'],
  ['impostor', 'member'],
  ['member', 'plain'],
  ['member', 'stranger'],
  ['member', 'misnamed'],
] as const) {
  tls(`refuse a connection if the client is ${asking} and the server is ${asked}`, async () => {
    await using server = await serverOf(asked);
    const { address } = server;
    await using edge = new FrameClient(engineProtocol, { address, tls: tlsOf(asking) });
    const refusal = await refusalOf(() =>
      incarnationAt(address, { timeoutMs: 5_000, clock, tls: tlsOf(asking) }),
    );
    assert.match(refusal.message, /no node of a cluster answers at/);
    assert.not(edge.isOpen);
    const fault = await peers.faultOf(edge.ask(peers.engineCall()));
    assert.is(peers.verdictOf(fault), 'service_unavailable engine_unavailable known');
  });
}

tls('refuse a client that trusts the authority but has no certificate', async () => {
  await using server = await serverOf('member');
  const credentials = grpc.credentials.createSsl(filesOf('member').authority);
  const options = { 'grpc.ssl_target_name_override': TLS_NAME };
  const client = new grpc.Client(server.address, credentials, options);
  const { path, requestSerialize, responseDeserialize } = AdminService.identify;
  const { promise, resolve } = Promise.withResolvers<grpc.ServiceError | null>();
  const asked = [path, requestSerialize, responseDeserialize, {}] as const;
  client.makeUnaryRequest(...asked, (error) => resolve(error));
  assert.is((await promise)?.code, grpc.status.UNAVAILABLE);
  client.close();
});

tls.run();
