import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { refusalOf } from '#test/support/settled';
import { TOOL_CALL } from '#test/wire/tool-peers';
import * as peers from '#test/wire/wire-peers';
import { drainNode } from '#wire/drain-node';
import { engineServer } from '#wire/engine-server';
import { serveGrpc } from '#wire/grpc-server';
import { identify } from '#wire/identify';
import { limiterServer } from '#wire/limiter-server';
import { nodeService } from '#wire/node-service';
import type { NodeTools } from '#wire/node-tools';
import type { WireService } from '#wire/wire-service';

const OBLIGING: NodeTools = {
  identity: () => 'n1',
  drain: async () => ({ incarnation: 'n1', openShards: 12 }),
};

const engine = () => engineServer({ ask: () => peers.engineAnswer('ok') });
const limiter = () =>
  limiterServer({ ask: () => ({ verdict: 'unknown_key', allowance: undefined }) });

async function served(...services: readonly WireService[]) {
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const node = suite('a node of a cluster');

for (const [kind, beside] of [
  ['engine', engine],
  ['limiter', limiter],
] as const) {
  node(`says beside the ${kind} who it is, and drains`, async () => {
    await using server = await served(beside(), nodeService(OBLIGING));
    assert.is(await identify(server.address, TOOL_CALL), 'n1');
    const progress = await drainNode(server.address, TOOL_CALL);
    assert.equal(progress, { incarnation: 'n1', openShards: 12 });
  });
}

node('answers with its own fault, whole', async () => {
  const owner = { incarnation: 'n2', address: 'b:8200', epoch: 7 };
  const options = { reason: 'not_owner', owner, retryAfterS: 3 } as const;
  const faults = [
    new Fault('conflict', 'no: there is nobody\nelse'),
    new Fault('service_unavailable', 'not here: 7 › 5', options),
  ];
  for (const fault of faults) {
    const drain = () => Promise.reject(fault);
    await using server = await served(nodeService({ ...OBLIGING, drain }));
    const heard = (await refusalOf(() => drainNode(server.address, TOOL_CALL))) as Fault;
    const { code, message, reason, owner: told, retryAfterS, isOutcomeUnknown } = fault;
    const expected = [code, message, reason, told, retryAfterS, isOutcomeUnknown];
    const { code: status, message: text, reason: why } = heard;
    const found = [status, text, why, heard.owner, heard.retryAfterS, heard.isOutcomeUnknown];
    assert.equal(found, expected);
  }
});

const absent = suite('operators who ask where no node of a cluster is');

absent('are told so with the address', async () => {
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
    [plain.address, TOOL_CALL.timeoutMs, /^$/],
    [`127.0.0.1:${port}`, 300, /^ in time$/],
    ['127.0.0.1:1', TOOL_CALL.timeoutMs, /^: .*ECONNREFUSED/],
  ] as const) {
    const drain = () => drainNode(address, { ...TOOL_CALL, timeoutMs });
    const refused = (await refusalOf(drain)) as Fault;
    assert.is(refused.code, 'service_unavailable');
    const text = `no node of a cluster answers at ${address}`;
    assert.ok(refused.message.startsWith(text), refused.message);
    assert.match(refused.message.slice(text.length), why);
  }
  assert.is(connected, 1);
  await peers.eventually('no connection is left to one that says nothing', () => open === 0);
  mute.close();
});

node.run();
absent.run();
