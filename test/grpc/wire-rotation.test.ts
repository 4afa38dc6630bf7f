import { connect, type PeerCertificate } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminService } from '#grpc/admin';
import { engineProtocol } from '#grpc/engine-codec';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import type { WireTls } from '#grpc/tls';
import { systemClock as clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { incarnationAt } from '#test/grpc/admin-call';
import * as peers from '#test/grpc/wire-peers';
import { pemOf } from '#test/support/servers/server-certificates';
import { settable } from '#test/support/settable';
import { refusalOf } from '#test/support/settled';

/** Two authorities, each of which has signed a certificate with all roles. */
const HOLDERS = { old: 'member', new: 'stranger' } as const;
type Authority = keyof typeof HOLDERS;

/** TLS files with a certificate of one authority, and one or more trusted authorities. */
function tlsOf(shown: Authority, ...trusted: readonly Authority[]): WireTls {
  const certificate = Buffer.from(pemOf(HOLDERS[shown], 'tls.crt'));
  const key = Buffer.from(pemOf(HOLDERS[shown], 'tls.key'));
  const authority = Buffer.from(trusted.map((name) => pemOf(HOLDERS[name], 'ca.crt')).join(''));
  return { authority, certificate, key };
}

/** Steps of a change of authority. Every process takes all steps in this order. */
const BEFORE = tlsOf('old', 'old');
const BOTH_TRUSTED = tlsOf('old', 'old', 'new');
const NEW_SHOWN = tlsOf('new', 'old', 'new');
const AFTER = tlsOf('new', 'new');

async function serverOf(tls: ReturnType<typeof settable<WireTls>>) {
  const node = { identity: () => 'engine-1', drain: () => Promise.reject(new Error('unasked')) };
  const engine = { ask: () => peers.engineAnswer('ok') };
  const services = [frameService(engineProtocol, engine), adminService(node, () => undefined)];
  return await serveGrpc({ listen: '127.0.0.1:0', services, tls, stopGraceMs: 100 });
}

/** Sends a call over a new connection. */
function ask(address: string, tls: WireTls): Promise<string> {
  return incarnationAt(address, { timeoutMs: 5_000, clock, tls: unchanging(tls) });
}

/** Certificate of a server, read by a client that trusts every authority. */
function shownBy(address: string, { certificate: cert, key }: WireTls): Promise<PeerCertificate> {
  const { promise, resolve, reject } = Promise.withResolvers<PeerCertificate>();
  const options = { cert, key, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
  const port = Number(address.split(':')[1]);
  const socket = connect(port, '127.0.0.1', options, () => {
    resolve(socket.getPeerCertificate());
    socket.destroy();
  });
  socket.on('error', reject);
  return promise;
}

const rotated = suite('when a process gets certificates of another authority');

rotated('open connections stay open, and new connections use the new certificates', async () => {
  const tls = settable(BEFORE);
  await using server = await serverOf(tls);
  const { address } = server;
  await using edge = new FrameClient(engineProtocol, { address, tls: unchanging(BEFORE) });
  await edge.ready();
  assert.is((await shownBy(address, BEFORE)).issuer.CN, 'ours');
  for (const step of [BOTH_TRUSTED, NEW_SHOWN, AFTER]) tls.set(step);
  assert.is((await shownBy(address, AFTER)).issuer.CN, 'theirs');
  assert.ok(edge.isOpen);
  assert.is(peers.bodyOf(await edge.ask(peers.engineCall())), 'ok');
  assert.is(await ask(address, AFTER), 'engine-1');
  await refusalOf(() => ask(address, BEFORE));
});

rotated(
  'processes that have taken a step and processes that have not yet taken it connect to each other',
  async () => {
    const steps = [BEFORE, BOTH_TRUSTED, NEW_SHOWN, AFTER];
    for (const [place, before] of steps.entries()) {
      const after = steps[place + 1] ?? before;
      const tls = settable(before);
      await using server = await serverOf(tls);
      for (const own of [before, after]) {
        tls.set(own);
        for (const theirs of [before, after])
          assert.is(await ask(server.address, theirs), 'engine-1');
      }
    }
  },
);

rotated('processes of different authorities do not connect without an overlap', async () => {
  const tls = settable(BEFORE);
  await using server = await serverOf(tls);
  tls.set(AFTER);
  await refusalOf(() => ask(server.address, BEFORE));
});

rotated(
  'a client that has lost its peer reconnects to a server with the new authority',
  async () => {
    const own = settable(BEFORE);
    const served = settable(BEFORE);
    const first = await serverOf(served);
    const { address } = first;
    await using edge = new FrameClient(engineProtocol, { address, tls: own, random: () => 0.1 });
    await edge.ready();
    own.set(NEW_SHOWN);
    await first[Symbol.asyncDispose]();
    await peers.faultOf(edge.ask(peers.engineCall()));
    const node = { identity: () => 'engine-2', drain: () => Promise.reject(new Error('unasked')) };
    const engine = { ask: () => peers.engineAnswer('again') };
    const services = [frameService(engineProtocol, engine), adminService(node, () => undefined)];
    await using _ = await serveGrpc({ listen: address, services, tls: settable(AFTER) });
    await edge.ready();
    assert.is(peers.bodyOf(await edge.ask(peers.engineCall())), 'again');
  },
);

rotated('a stopped server is not notified of further changes', async () => {
  const tls = settable(BEFORE);
  let listeners = 0;
  const counted = {
    ...tls,
    onChange(task: (value: WireTls) => void) {
      listeners += 1;
      const listening = tls.onChange(task);
      return {
        [Symbol.dispose]() {
          listeners -= 1;
          listening[Symbol.dispose]();
        },
      };
    },
  };
  const server = await serverOf(counted);
  assert.is(listeners, 1);
  await server[Symbol.asyncDispose]();
  assert.is(listeners, 0);
});

rotated.run();
