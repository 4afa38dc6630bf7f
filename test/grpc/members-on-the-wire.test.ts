import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { unaryCall } from '#grpc/admin';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { AdmitCall, LimiterAnswer } from '#grpc/limiter-messages';
import type { WireTls } from '#grpc/tls';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import * as peers from '#test/grpc/wire-peers';
import { type Holder, pemOf } from '#test/support/servers/server-certificates';
import { refusalOf } from '#test/support/settled';

const BY_KEY: AdmitCall = {
  ...{ kind: 'admit', accountId: 'acct_1', keyDigest: 'a digest', callId: 1, callTag: 0 },
  ...{ scope: 'full', cycles: 1 },
};

const FOR_MEMBER: AdmitCall = { ...BY_KEY, keyDigest: 'ses_1', isOfMember: true };

function tlsOf(holder: Holder): WireTls {
  const read = (file: Parameters<typeof pemOf>[1]) => Buffer.from(pemOf(holder, file));
  return { authority: read('ca.crt'), certificate: read('tls.crt'), key: read('tls.key') };
}

/** A limiter that admits every call, and a client with the certificate of `holder`. */
async function scene(holder: Holder | undefined) {
  const opened = new AsyncDisposableStack();
  const reached: AdmitCall[] = [];
  const bugs: unknown[] = [];
  const allowance = {
    ...{ requestsPerMinute: 1, requestsRemaining: 1, windowResetAtS: 1, cyclesPerMonth: 1 },
    ...{ cyclesRemaining: 1, monthResetAtS: 1, instances: 1 },
  };
  const limiter = {
    ask(call: unknown): LimiterAnswer {
      reached.push(call as AdmitCall);
      return { verdict: 'admitted', allowance };
    },
  };
  const services = [frameService(limiterProtocol, limiter, { reportBug: (bug) => bugs.push(bug) })];
  const tls = holder && unchanging(tlsOf('limiter'));
  const server = opened.use(
    await serveGrpc({ listen: '127.0.0.1:0', services, tls, stopGraceMs: 100 }),
  );
  const own = holder && unchanging(tlsOf(holder));
  const { address } = server;
  const client = opened.use(
    new FrameClient(limiterProtocol, { address, tls: own, timeoutMs: 5_000 }),
  );
  return {
    ...{ address, own, reached, bugs },
    ask: async (call: AdmitCall) => {
      await client.ready();
      return await client.ask(call);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const members = suite('an admission');

members(
  'for a member is accepted from a console, even if the console has further roles',
  async () => {
    for (const holder of ['console', 'member'] as const) {
      await using limiter = await scene(holder);
      assert.is((await limiter.ask(FOR_MEMBER)).verdict, 'admitted');
      assert.is(limiter.reached[0]?.isOfMember, true);
    }
  },
);

members(
  'for a member is refused from an edge before the limiter receives it, and is reported',
  async () => {
    await using limiter = await scene('edge');
    const fault = await peers.faultOf(limiter.ask(FOR_MEMBER));
    assert.is(peers.verdictOf(fault), 'internal undefined known');
    assert.equal(limiter.reached, []);
    const { cause } = limiter.bugs[0] as Fault;
    assert.match(String((cause as Fault).cause), /for console alone/);
  },
);

members('for a member is refused from ctl, which calls without a stream', async () => {
  await using limiter = await scene('ctl');
  const callee = { address: limiter.address, roles: ['limiter'] as const };
  const asked = (call: AdmitCall) =>
    unaryCall(callee, limiterProtocol.ask, limiterProtocol.requestOf(1, 5_000, call), {
      ...{ timeoutMs: 5_000, clock: systemClock, tls: limiter.own },
    });
  assert.ok(await asked(BY_KEY));
  const { message } = await refusalOf(() => asked(FOR_MEMBER));
  assert.match(message, /for console alone/);
  assert.is(limiter.reached.length, 1);
});

members('for a member is accepted from any process without TLS', async () => {
  await using limiter = await scene(undefined);
  assert.is((await limiter.ask(FOR_MEMBER)).verdict, 'admitted');
});

members('by a key is accepted from an edge', async () => {
  await using limiter = await scene('edge');
  assert.is((await limiter.ask(BY_KEY)).verdict, 'admitted');
  assert.is(limiter.reached[0]?.isOfMember, undefined);
});

members.run();
