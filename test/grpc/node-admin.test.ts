import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { adminClient, adminService, type NodeAdmin } from '#grpc/admin';
import { engineProtocol } from '#grpc/engine-codec';
import { frameService } from '#grpc/frame-server';
import { serveGrpc, type WireService } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import { ADMIN_CALL, incarnationAt } from '#test/grpc/admin-call';
import * as peers from '#test/grpc/wire-peers';
import { refusalOf } from '#test/support/settled';

const OBLIGING: NodeAdmin = {
  identity: () => 'n1',
  drain: async () => ({ incarnation: 'n1', openShards: 12 }),
};

const engine = () => frameService(engineProtocol, { ask: () => peers.engineAnswer('ok') });
const UNKNOWN_KEY = { verdict: 'unknown_key', allowance: undefined } as const;
const limiter = () => frameService(limiterProtocol, { ask: () => UNKNOWN_KEY });

async function served(...services: readonly WireService[]) {
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const node = suite('a node of a cluster');

for (const [kind, beside] of [
  ['engine', engine],
  ['limiter', limiter],
] as const) {
  node(`that serves as ${kind} reports its identity, and drains`, async () => {
    await using server = await served(beside(), adminService(OBLIGING));
    assert.is(await incarnationAt(server.address), 'n1');
    const progress = await adminClient(server.address, ADMIN_CALL).drain();
    assert.equal(progress, { incarnation: 'n1', openShards: 12 });
  });
}

node('sends all fields of its own fault to the caller', async () => {
  const owner = { incarnation: 'n2', address: 'b:8200', epoch: 7 };
  const options = { reason: 'not_owner', owner, retryAfterS: 3 } as const;
  const faults = [
    new Fault('conflict', 'no: there is none\nelse'),
    new Fault('service_unavailable', 'not here: 7 › 5', options),
  ];
  for (const fault of faults) {
    const drain = () => Promise.reject(fault);
    await using server = await served(adminService({ ...OBLIGING, drain }));
    const heard = (await refusalOf(() => adminClient(server.address, ADMIN_CALL).drain())) as Fault;
    const { code, message, reason, owner: named, retryAfterS, isOutcomeUnknown } = fault;
    const expected = [code, message, reason, named, retryAfterS, isOutcomeUnknown];
    const { code: status, message: text, reason: why } = heard;
    const found = [status, text, why, heard.owner, heard.retryAfterS, heard.isOutcomeUnknown];
    assert.equal(found, expected);
  }
});

const absent = suite('an operator’s call to a process outside a cluster');

absent('is refused with the address of the process', async () => {
  await using plain = await served(engine());
  let connected = 0;
  let open = 0;
  const mute = createServer((socket) => {
    connected += 1;
    open += 1;
    socket.resume().on('close', () => {
      open -= 1;
    });
    socket.on('error', () => undefined);
  });
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  for (const [address, timeoutMs, why] of [
    [plain.address, ADMIN_CALL.timeoutMs, /^$/],
    [`127.0.0.1:${port}`, 300, /^ in time$/],
    ['127.0.0.1:1', ADMIN_CALL.timeoutMs, /^: .*ECONNREFUSED/],
  ] as const) {
    const drain = () => adminClient(address, { ...ADMIN_CALL, timeoutMs }).drain();
    const refused = (await refusalOf(drain)) as Fault;
    assert.is(refused.code, 'service_unavailable');
    const text = `no node of a cluster answers at ${address}`;
    assert.ok(refused.message.startsWith(text), refused.message);
    assert.match(refused.message.slice(text.length), why);
  }
  assert.is(connected, 1);
  await peers.eventually('no connection is left to a silent process', () => open === 0);
  mute.close();
});

node.run();
absent.run();
