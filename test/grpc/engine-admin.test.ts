import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { adminClient, adminService, type InstanceAdmin, type InstanceReport } from '#grpc/admin';
import { engineProtocol } from '#grpc/engine-codec';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { ADMIN_CALL } from '#test/grpc/admin-call';
import * as peers from '#test/grpc/wire-peers';
import { refusalOf } from '#test/support/settled';

const REPORT: InstanceReport = {
  incarnation: 'e1',
  isServed: true,
  active: {
    version: 2 ** 53 - 1,
    generation: 3,
    cycle: 0,
    unstoredCycles: [
      // A signal that needs all bits of a double, and a time before 1970.
      { generation: 3, cycle: 7, mode: 6, signal: 0.1 + 0.2, confidence: 0, timestampMs: -1 },
    ],
  },
};

async function served(
  readInstance: InstanceAdmin['readInstance'],
  reportBug: (bug: unknown) => void = () => {},
) {
  const engine = { ask: () => peers.engineAnswer('ok') };
  const node = {
    identity: () => 'e1',
    drain: async () => ({ incarnation: 'e1', openShards: 0 }),
    readInstance,
  };
  const services = [
    frameService(engineProtocol, engine, { reportBug }),
    adminService(node, reportBug),
  ];
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const methods = suite('an engine’s methods for operators');

methods('return the engine’s answers without loss of precision', async () => {
  const readInstance = async (id: string) => ({ ...REPORT, incarnation: id });
  await using server = await served(readInstance);
  const answer = await adminClient(server.address, ADMIN_CALL).readInstance('inst_1');
  assert.equal(answer, { ...REPORT, incarnation: 'inst_1' });
});

methods('report an instance that is not in memory', async () => {
  const readInstance = async () => ({ incarnation: 'e1', isServed: false, active: undefined });
  await using server = await served(readInstance);
  const answer = await adminClient(server.address, ADMIN_CALL).readInstance('inst_1');
  assert.equal(answer, { incarnation: 'e1', isServed: false, active: undefined });
});

methods('report a bug only to reportBug, not to the caller', async () => {
  const bugs: unknown[] = [];
  const readInstance = () => Promise.reject(new Error('secret'));
  await using server = await served(readInstance, (bug) => bugs.push(bug));
  const ask = () => adminClient(server.address, ADMIN_CALL).readInstance('inst_1');
  const broken = (await refusalOf(ask)) as Fault;
  assert.equal([broken.code, broken.message], ['internal', 'internal error']);
  assert.is(bugs.length, 1);
});

methods.run();
