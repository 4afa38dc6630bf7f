import * as grpc from '@grpc/grpc-js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminService } from '#grpc/admin';
import { courierProtocol } from '#grpc/courier-codec';
import { engineProtocol } from '#grpc/engine-codec';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { healthService, serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import { CALLERS, WIRE_ROLES, type WireRole, type WireTls } from '#grpc/tls';
import { systemClock as clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { incarnationAt } from '#test/grpc/admin-call';
import * as peers from '#test/grpc/wire-peers';
import { type Holder, pemOf } from '#test/support/servers/server-certificates';
import { refusalOf } from '#test/support/settled';

/** TLS files of a holder: a role or another owner of a test certificate. */
function tlsOf(holder: Holder): WireTls {
  const read = (file: Parameters<typeof pemOf>[1]) => Buffer.from(pemOf(holder, file));
  return { authority: read('ca.crt'), certificate: read('tls.crt'), key: read('tls.key') };
}

const unasked = () => Promise.reject(new Error('no call was expected'));
/** A node with every method. */
const node = {
  identity: () => 'node-1',
  drain: unasked,
  readInstance: unasked,
  readUsage: unasked,
  resetUsage: unasked,
  readLoad: unasked,
};
const services = [
  frameService(engineProtocol, { ask: unasked }),
  frameService(limiterProtocol, { ask: unasked }),
  frameService(courierProtocol, { ask: unasked }),
  adminService(node, undefined, undefined, () => ({ messages: [], last: 0 })),
];

/** Every method that an engine or a limiter serves. */
const methods = [...services, healthService([])].flatMap(({ definition }) =>
  Object.values(definition),
);

/** A server with every method. `refused` has the path and the roles of each refused call. */
async function serverOf(holder: Holder) {
  const refused: string[] = [];
  const onRefused = (path: string, roles: readonly string[]) => {
    refused.push(`${path} ${roles.join('+')}`);
  };
  const tls = unchanging(tlsOf(holder));
  const stopGraceMs = 100;
  const server = await serveGrpc({
    ...{ listen: '127.0.0.1:0', services, tls, onRefused, stopGraceMs },
  });
  return {
    address: server.address,
    refused,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Calls a method as `holder`. Returns the final status, or OK if a stream has started. */
async function statusOf(
  address: string,
  holder: Holder,
  { path, requestStream, responseStream }: grpc.MethodDefinition<unknown, unknown>,
): Promise<grpc.status> {
  const { authority, key, certificate } = tlsOf(holder);
  const checkServerIdentity = () => undefined;
  const client = new grpc.Client(
    address,
    grpc.credentials.createSsl(authority, key, certificate, { checkServerIdentity }),
  );
  using _ = { [Symbol.dispose]: () => client.close() };
  const asIs = (bytes: Buffer) => bytes;
  const { promise, resolve } = Promise.withResolvers<grpc.status>();
  if (!responseStream) {
    client.makeUnaryRequest(path, asIs, asIs, Buffer.alloc(0), (error) =>
      resolve(error?.code ?? grpc.status.OK),
    );
    return await promise;
  }
  const stream = requestStream
    ? client.makeBidiStreamRequest(path, asIs, asIs)
    : client.makeServerStreamRequest(path, asIs, asIs, Buffer.alloc(0));
  stream.on('error', () => undefined);
  stream.on('data', () => undefined);
  stream.on('status', ({ code }: grpc.StatusObject) => resolve(code));
  // The status of a refused stream arrives with or without headers.
  stream.on('metadata', () => setImmediate(() => resolve(grpc.status.OK)));
  const status = await promise;
  stream.cancel();
  return status;
}

const table = suite('the table of roles and methods');

table('has a row for every served method, and no other', () => {
  assert.equal(Object.keys(CALLERS).toSorted(), methods.map(({ path }) => path).toSorted());
});

for (const role of WIRE_ROLES) {
  table(`lets ${role} call exactly the methods of its rows`, async () => {
    await using server = await serverOf('member');
    const expected: string[] = [];
    for (const method of methods) {
      const isAllowed = CALLERS[method.path]?.includes(role) === true;
      if (!isAllowed) expected.push(`${method.path} ${role}`);
      const isDenied =
        (await statusOf(server.address, role, method)) === grpc.status.PERMISSION_DENIED;
      assert.is(isDenied, !isAllowed, method.path);
    }
    assert.equal(server.refused, expected);
  });
}

table('admits no client whose certificate has no role', async () => {
  await using server = await serverOf('member');
  for (const holder of ['misnamed', 'store'] as const) {
    for (const method of methods) {
      const status = await statusOf(server.address, holder, method);
      assert.is(status, grpc.status.PERMISSION_DENIED, `${holder} ${method.path}`);
    }
  }
});

const wanted = suite('a process with another role than expected');

/** All clients of the services, with the roles that they expect. */
const CALLS: readonly [string, readonly WireRole[], (address: string) => Promise<unknown>][] = [
  [
    'an edge that expects an engine',
    ['engine'],
    async (address) => {
      await using engine = new FrameClient(engineProtocol, {
        address,
        tls: unchanging(tlsOf('edge')),
      });
      return await opened(engine);
    },
  ],
  [
    'an edge that expects a limiter',
    ['limiter'],
    async (address) => {
      await using limiter = new FrameClient(limiterProtocol, {
        address,
        tls: unchanging(tlsOf('edge')),
      });
      return await opened(limiter);
    },
  ],
  [
    'a node that asks for another node’s identity',
    ['engine', 'limiter'],
    (address) =>
      incarnationAt(address, {
        timeoutMs: 5_000,
        clock,
        tls: unchanging(tlsOf('engine')),
      }),
  ],
];

/** Fulfils when a connection has opened; rejects after a second. */
async function opened(peer: { readonly isOpen: boolean; ready(): Promise<void> }) {
  const { promise, reject } = Promise.withResolvers<never>();
  using _ = clock.after(1_000, () =>
    reject(new Error('the connection did not open within a second')),
  );
  await Promise.race([peer.ready(), promise]);
}

for (const [what, roles, call] of CALLS) {
  wanted(`gets no connection from ${what}`, async () => {
    for (const role of WIRE_ROLES) {
      await using server = await serverOf(role);
      if (roles.includes(role)) await call(server.address);
      else await refusalOf(() => call(server.address));
      assert.equal(server.refused, []);
    }
  });
}

wanted('gets no call, not even from an edge that makes a call immediately', async () => {
  await using server = await serverOf('limiter');
  await using engine = new FrameClient(engineProtocol, {
    address: server.address,
    tls: unchanging(tlsOf('edge')),
  });
  const fault = await peers.faultOf(engine.ask(peers.engineCall()));
  assert.is(peers.verdictOf(fault), 'service_unavailable engine_unavailable known');
});

table.run();
wanted.run();
