import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock as clock } from '#platform/clock';
import { refusalOf } from '#test/support/settled';
import * as peers from '#test/wire/wire-peers';
import { connectEngine } from '#wire/engine-connection';
import { engineServer } from '#wire/engine-server';
import { serveGrpc } from '#wire/grpc-server';
import { identify } from '#wire/identify';
import { nodeService } from '#wire/node-service';
import type { WireTls } from '#wire/wire-tls';

type Who = 'member' | 'stranger' | 'misnamed' | 'plain';

/** How long a connection that must not come about is waited for, in milliseconds. */
const REFUSED_MS = 300;

/** What a process shows; one in plain text shows nothing. */
function tlsOf(who: Who): WireTls | undefined {
  if (who === 'plain') return undefined;
  const read = (file: string) => readFileSync(`test/wire/certificates/${who}/${file}`);
  return { authority: read('ca.crt'), certificate: read('tls.crt'), key: read('tls.key') };
}

async function serverOf(who: Who) {
  const node = { identity: () => 'engine-1', drain: () => Promise.reject(new Error('unasked')) };
  const services = [
    engineServer({ ask: () => peers.engineAnswer('ok') }),
    nodeService(node, () => undefined),
  ];
  return await serveGrpc({ listen: '127.0.0.1:0', services, tls: tlsOf(who), stopGraceMs: 100 });
}

const tls = suite('processes that show certificates');

tls('of the same authority answer each other, wherever they are', async () => {
  await using server = await serverOf('member');
  const { address } = server;
  await using edge = connectEngine({ address, tls: tlsOf('member') });
  await edge.ready();
  assert.is(peers.bodyOf(await edge.ask(peers.engineCall())), 'ok');
  const name = await identify(address, { timeoutMs: 5_000, clock, tls: tlsOf('member') });
  assert.is(name, 'engine-1');
});

for (const [asking, asked] of [
  ['plain', 'member'],
  ['stranger', 'member'],
  ['member', 'plain'],
  ['member', 'stranger'],
  ['member', 'misnamed'],
] as const) {
  tls(`one that is ${asking} gets no word with one that is ${asked}`, async () => {
    await using server = await serverOf(asked);
    const { address } = server;
    await using edge = connectEngine({ address, tls: tlsOf(asking) });
    const refusal = await refusalOf(() =>
      identify(address, { timeoutMs: 5_000, clock, tls: tlsOf(asking) }),
    );
    assert.match(refusal.message, /does not say who it is/);
    await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
    assert.not(edge.isOpen);
    const fault = await peers.faultOf(edge.ask(peers.engineCall()));
    assert.is(peers.verdictOf(fault), 'service_unavailable engine_unavailable known');
  });
}

tls.run();
