import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AccountCaller, LocalHandler } from '#edge/endpoints/endpoint';
import { AccountAudit, AccountBilling } from '#edge/serve/account';
import { localAnswer } from '#edge/serve/serve';
import { Fault, toFault } from '#errors/fault';
import { ALLOWANCE } from '#test/edge/admission/admission-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';
import { webhooksOf } from '#test/support/webhooks-of';

const REQUEST = {
  id: '',
  body: undefined,
  query: {},
  named: new Set<string>(),
  headers: {},
  url: '',
  nowMs: 0,
};
const DESCRIPTION = {
  plan: 'pro',
  keyId: 'key_1',
  keyScope: 'read',
  keyExpiresAtMs: undefined,
} as const;

const FROM = {
  accountId: 'AdaAdaAdaAda',
  address: '192.0.2.1',
  requestId: 'request-1',
  audited: undefined,
};

const UNASKED = { ask: () => Promise.reject(new Error('the limiter must not be asked')) };

const ask = (handler: LocalHandler, description?: typeof DESCRIPTION) =>
  localAnswer(
    handler,
    REQUEST,
    FROM,
    { headers: {}, refusal: undefined, allowance: ALLOWANCE, description },
    {
      clock: new ManualClock(),
      audit: new AccountAudit(UNASKED),
      billing: new AccountBilling(UNASKED),
      webhooks: webhooksOf(UNASKED),
    },
  );

const answer = suite('an answer that the edge computes itself');

answer('is the handler’s object as JSON, without cycles or version', async () => {
  const handler: LocalHandler = { kind: 'stateless', answer: async ({ nowMs }) => ({ nowMs }) };
  assert.equal(await ask(handler), {
    body: '{"nowMs":0}',
    etag: '',
    cycles: 0,
    throttledRetryAfterS: 0,
    isReplayed: false,
  });
});

answer('about an account uses the limiter’s description of the caller', async () => {
  const seen: AccountCaller[] = [];
  const handler: LocalHandler = {
    kind: 'account',
    answer: async (_request, caller) => {
      seen.push(caller);
      return {};
    },
  };
  await ask(handler, DESCRIPTION);
  assert.equal(seen, [{ ...FROM, allowance: ALLOWANCE, description: DESCRIPTION }]);
});

answer('about an account is refused if the limiter does not describe the caller', async () => {
  const handler: LocalHandler = { kind: 'account', answer: async () => ({}) };
  const { code, reason, retryAfterS } = toFault(await refusalOf(() => ask(handler)));
  assert.equal([code, reason, retryAfterS], ['service_unavailable', 'limiter_unavailable', 2]);
});

answer('is the refusal that the handler throws', async () => {
  const fault = new Fault('not_found', 'no such thing');
  const handler: LocalHandler = {
    kind: 'stateless',
    answer: async () => {
      throw fault;
    },
  };
  assert.is(await refusalOf(() => ask(handler)), fault);
});

answer.run();
