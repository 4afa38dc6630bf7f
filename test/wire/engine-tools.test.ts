import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#fault/fault';
import { refusalOf } from '#test/support/settled';
import { TOOL_CALL } from '#test/wire/tool-peers';
import * as peers from '#test/wire/wire-peers';
import { engineServer } from '#wire/engine-server';
import { connectEngineTools } from '#wire/engine-tool-client';
import type { EngineTools, InspectedInstance } from '#wire/engine-tools';
import { serveGrpc } from '#wire/grpc-server';

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

async function served(tools: EngineTools, reportBug: (bug: unknown) => void = () => {}) {
  const engine = { ask: () => peers.engineAnswer('ok') };
  const services = [engineServer(engine, { reportBug, tools })];
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const tools = suite("an engine's methods for operators");

tools('say what the engine says, to the last bit', async () => {
  const inspect = async (id: string) => ({ ...INSPECTED, incarnation: id });
  await using server = await served({ inspect });
  const answer = await connectEngineTools(server.address, TOOL_CALL).inspect('inst_1');
  assert.equal(answer, { ...INSPECTED, incarnation: 'inst_1' });
});

tools('tell an instance that is not in memory from one that is', async () => {
  const inspect = async () => ({ incarnation: 'e1', isServed: false, active: undefined });
  await using server = await served({ inspect });
  const answer = await connectEngineTools(server.address, TOOL_CALL).inspect('inst_1');
  assert.equal(answer, { incarnation: 'e1', isServed: false, active: undefined });
});

tools('tell nobody of a bug but whoever listens for them', async () => {
  const bugs: unknown[] = [];
  const inspect = () => Promise.reject(new Error('secret'));
  await using server = await served({ inspect }, (bug) => bugs.push(bug));
  const ask = () => connectEngineTools(server.address, TOOL_CALL).inspect('inst_1');
  const broken = (await refusalOf(ask)) as Fault;
  assert.equal([broken.code, broken.message], ['internal', 'internal error']);
  assert.is(bugs.length, 1);
});

tools.run();
