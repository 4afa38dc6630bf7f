import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { systemClock } from '#platform/clock';
import { refusalOf } from '#test/support/settled';
import * as peers from '#test/wire/wire-peers';
import { engineServer } from '#wire/engine-server';
import { connectEngineTools } from '#wire/engine-tool-client';
import type { EngineTools, InspectedInstance } from '#wire/engine-tools';
import { serveGrpc } from '#wire/grpc-server';

const LISTEN = '127.0.0.1:0';

const INSPECTED: InspectedInstance = {
  incarnation: 'e1',
  isServed: true,
  active: {
    version: 2 ** 53 - 1,
    generation: 3,
    cycle: 0,
    unstoredCycles: [
      // The last bit of a signal, and a time before 1970.
      { generation: 3, cycle: 7, mode: 6, signal: 0.1 + 0.2, confidence: 0, timestampMs: -1 },
    ],
  },
};

const OBLIGING: EngineTools = {
  inspect: async (id) => ({ ...INSPECTED, incarnation: id }),
  drain: async () => ({ incarnation: 'e1', openShards: 12 }),
};

async function served(
  tools: EngineTools | undefined,
  reportBug: (bug: unknown) => void = () => {},
) {
  const engine = { ask: () => peers.engineAnswer('ok') };
  const options = tools === undefined ? {} : { tools };
  const services = [engineServer(engine, { reportBug, ...options })];
  return await serveGrpc({ listen: LISTEN, services, stopGraceMs: 100 });
}

function toolsAt(address: string, timeoutMs = 3_000): EngineTools {
  return connectEngineTools(address, { timeoutMs, clock: systemClock });
}

const tools = suite("an engine's methods for operators");

tools('say what the engine says, to the last bit', async () => {
  await using server = await served(OBLIGING);
  const { inspect, drain } = toolsAt(server.address);
  assert.equal(await inspect('inst_1'), { ...INSPECTED, incarnation: 'inst_1' });
  assert.equal(await drain(), { incarnation: 'e1', openShards: 12 });
});

tools('tell an instance that is not in memory from one that is', async () => {
  const inspect = async () => ({ incarnation: 'e1', isServed: false, active: undefined });
  await using server = await served({ ...OBLIGING, inspect });
  const answer = await toolsAt(server.address).inspect('inst_1');
  assert.equal(answer, { incarnation: 'e1', isServed: false, active: undefined });
});

tools("reject with the engine's own fault, and report what is none", async () => {
  const bugs: unknown[] = [];
  const failing: EngineTools = {
    drain: () => Promise.reject(new Fault('conflict', 'no: there is nobody')),
    inspect: () => Promise.reject(new Error('secret')),
  };
  await using server = await served(failing, (bug) => bugs.push(bug));
  const { inspect, drain } = toolsAt(server.address);
  const refused = (await refusalOf(drain)) as Fault;
  assert.equal([refused.code, refused.message], ['conflict', 'no: there is nobody']);
  const broken = (await refusalOf(() => inspect('inst_1'))) as Fault;
  assert.equal([broken.code, broken.message], ['internal', 'internal error']);
  assert.is(bugs.length, 1);
});

const absent = suite('operators who ask where no engine of a cluster is');

absent('are told so with the address', async () => {
  await using plain = await served(undefined);
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
  for (const address of [plain.address, `127.0.0.1:${port}`, '127.0.0.1:1']) {
    const refused = (await refusalOf(() => toolsAt(address, 300).drain())) as Fault;
    assert.is(refused.code, 'service_unavailable');
    assert.is(refused.message, `no engine of a cluster answers at ${address}`);
  }
  assert.is(connected, 1);
  await peers.eventually('no connection is left to one that says nothing', () => open === 0);
  mute.close();
});

tools.run();
absent.run();
