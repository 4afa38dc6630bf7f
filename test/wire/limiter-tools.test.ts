import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CUSTOM_LIMITS_MAX } from '#accounts/plan';
import { Fault } from '#fault/fault';
import { refusalOf } from '#test/support/settled';
import { TOOL_CALL } from '#test/wire/tool-peers';
import { serveGrpc } from '#wire/grpc-server';
import { limiterServer } from '#wire/limiter-server';
import { connectLimiterTools } from '#wire/limiter-tool-client';
import type { LimiterTools, MeterUsage } from '#wire/limiter-tools';

/** As much as the largest plan lets anybody use. */
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
  monthMark: CUSTOM_LIMITS_MAX.cyclesPerMonth,
  windowMark: CUSTOM_LIMITS_MAX.requestsPerMinute - 1,
  cyclesExpired: 7,
  cyclesLost: 2 ** 53 - 1,
};

async function served(usage: LimiterTools['usage'] | undefined) {
  // What a reset does is the limiter's; on the wire it is the same question.
  const tools = usage && { usage, resetUsage: usage };
  const limiter = { ask: () => ({ verdict: 'unknown_key', allowance: undefined }) as const };
  const services = [limiterServer(limiter, tools === undefined ? {} : { tools })];
  return await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
}

const tools = suite("a limiter's methods for operators");

tools('say what the account has used, to the last cycle', async () => {
  const asked: string[] = [];
  const usage = async (accountId: string) => {
    asked.push(accountId);
    return USAGE;
  };
  await using server = await served(usage);
  const answer = await connectLimiterTools(server.address, TOOL_CALL).usage('Acc0unt00001');
  assert.equal(answer, USAGE);
  const after = await connectLimiterTools(server.address, TOOL_CALL).resetUsage('Acc0unt00002');
  assert.equal(after, USAGE);
  assert.equal(asked, ['Acc0unt00001', 'Acc0unt00002']);
});

tools('tell an account between two windows, and one that is not there', async () => {
  const quiet = { ...USAGE, requestsInWindow: 0, windowResetAtS: undefined };
  const usage = async (accountId: string) => (accountId === 'nobody' ? undefined : quiet);
  await using server = await served(usage);
  const client = connectLimiterTools(server.address, TOOL_CALL);
  assert.equal(await client.usage('Acc0unt00001'), quiet);
  assert.is(await client.usage('nobody'), undefined);
});

tools('name the owner of an account that is another’s', async () => {
  const owner = { incarnation: 'l2', address: 'b:8200', epoch: 2 };
  const fault = new Fault('service_unavailable', 'not here', { reason: 'not_owner', owner });
  await using server = await served(() => Promise.reject(fault));
  const ask = () => connectLimiterTools(server.address, TOOL_CALL).usage('Acc0unt00001');
  const refused = (await refusalOf(ask)) as Fault;
  assert.equal([refused.reason, refused.owner], ['not_owner', owner]);
});

tools('are missing where the limiter is none of a cluster', async () => {
  await using server = await served(undefined);
  const ask = () => connectLimiterTools(server.address, TOOL_CALL).usage('Acc0unt00001');
  const { message, reason } = (await refusalOf(ask)) as Fault;
  assert.equal(
    [message, reason],
    [`no limiter of a cluster answers at ${server.address}`, 'limiter_unavailable'],
  );
});

tools.run();
