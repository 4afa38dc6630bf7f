import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CUSTOM_LIMITS_MAX } from '#accounts/plan';
import { Fault } from '#errors/fault';
import { adminClient, adminService, type MeterUsage, type UsageAdmin } from '#grpc/admin';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import { ADMIN_CALL } from '#test/grpc/admin-call';
import { refusalOf } from '#test/support/settled';

/** Maximum usage under the largest plan. */
const USAGE: MeterUsage = {
  limits: {
    requestsPerMinute: CUSTOM_LIMITS_MAX.requestsPerMinute,
    cyclesPerMonth: CUSTOM_LIMITS_MAX.cyclesPerMonth,
  },
  requestsInWindow: CUSTOM_LIMITS_MAX.requestsPerMinute,
  windowResetAtS: 1_768_478_460,
  cyclesUsed: CUSTOM_LIMITS_MAX.cyclesPerMonth - 3,
  cyclesReserved: 3,
  monthResetAtS: 1_769_904_000,
  monthWatermark: CUSTOM_LIMITS_MAX.cyclesPerMonth,
  windowWatermark: CUSTOM_LIMITS_MAX.requestsPerMinute - 1,
  cyclesExpired: 7,
  cyclesLost: 2 ** 53 - 1,
  cyclesByDay: [0, 2 ** 53 - 1],
  keys: [{ prefix: 'aB3_-6zZ', cyclesByDay: [0, 2 ** 53 - 2] }],
  finishedMonths: [
    {
      endsAtMs: 1_767_225_600_000,
      cyclesByDay: [7, 0, 2],
      keys: [{ prefix: 'aB3_-6zZ', cyclesByDay: [7] }],
    },
  ],
};

async function served(readUsage: UsageAdmin['readUsage'] | undefined) {
  const node = {
    identity: () => 'l1',
    drain: async () => ({ incarnation: 'l1', openShards: 0 }),
    // On the wire, a reset is the same call as a usage query.
    ...(readUsage && { readUsage, resetUsage: readUsage }),
  };
  const limiter = { ask: () => ({ verdict: 'unknown_key', allowance: undefined }) as const };
  const services = [frameService(limiterProtocol, limiter), adminService(node)];
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const methods = suite('a limiter’s methods for operators');

methods('return the exact usage of the account', async () => {
  const asked: string[] = [];
  const readUsage = async (accountId: string) => {
    asked.push(accountId);
    return USAGE;
  };
  await using server = await served(readUsage);
  const answer = await adminClient(server.address, ADMIN_CALL).readUsage('Acc0unt00001');
  assert.equal(answer, USAGE);
  const after = await adminClient(server.address, ADMIN_CALL).resetUsage('Acc0unt00002');
  assert.equal(after, USAGE);
  assert.equal(asked, ['Acc0unt00001', 'Acc0unt00002']);
});

methods('describe an account between two windows, and an unknown account', async () => {
  const quiet = { ...USAGE, requestsInWindow: 0, windowResetAtS: undefined };
  const readUsage = async (accountId: string) => (accountId === 'unknown' ? undefined : quiet);
  await using server = await served(readUsage);
  const client = adminClient(server.address, ADMIN_CALL);
  assert.equal(await client.readUsage('Acc0unt00001'), quiet);
  assert.is(await client.readUsage('unknown'), undefined);
});

methods('name the owner of an account that another limiter owns', async () => {
  const owner = { incarnation: 'l2', address: 'b:8200', epoch: 2 };
  const fault = new Fault('service_unavailable', 'not here', { reason: 'not_owner', owner });
  await using server = await served(() => Promise.reject(fault));
  const ask = () => adminClient(server.address, ADMIN_CALL).readUsage('Acc0unt00001');
  const refused = (await refusalOf(ask)) as Fault;
  assert.equal([refused.reason, refused.owner], ['not_owner', owner]);
});

methods('do not exist if the limiter is not in a cluster', async () => {
  await using server = await served(undefined);
  const ask = () => adminClient(server.address, ADMIN_CALL).readUsage('Acc0unt00001');
  const { message, reason } = (await refusalOf(ask)) as Fault;
  assert.equal(
    [message, reason],
    [`no limiter of a cluster answers at ${server.address}`, 'limiter_unavailable'],
  );
});

methods.run();
