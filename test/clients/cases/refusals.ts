import { formatApiKey } from '#accounts/api-key';
import type { Accounts } from '#test/clients/cases/accounts';
import { anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, Json } from '#test/clients/cases/wire-case';

/** Options of a client without retries, for refusals that a retry would receive again. */
const ONCE = { client: { attempts_max: 1 } };

const personas: Call = { method: 'personas.list' };

/** Cases of calls that the service refuses because of the API key or the account's limits. */
export async function callerCases(tape: Tape, accounts: Accounts): Promise<void> {
  const unknown = formatApiKey('000000000000', 'a'.repeat(32));
  await tape.record('401: a key that does not exist', personas, { key: unknown });
  const other = await accounts.open();
  const create: Call = { method: 'instances.create', arguments: { name: 'Ada' } };
  await tape.record('403: a read-only key', create, { key: other.read });
  await tape.record('403: a key without the scope', { method: 'audit.list' }, { key: other.read });
  const bound = await tape.service.admin.createKey(other.id, {
    scope: 'full',
    networks: ['192.0.2.0/24'],
  });
  await tape.record('403: a key bound to other networks', personas, { key: bound.key });
  await tape.service.admin.setStatus(other.id, 'suspended');
  await tape.record('403: a suspended account', personas, { key: other.full });
  const small = await accounts.open({ instances: 1 });
  await tape.play(create, small.full);
  await tape.record('403: an instance beyond the limit of the plan', create, { key: small.full });
  const hurried = await accounts.open({ requestsPerMinute: 1 });
  await tape.play(personas, hurried.full);
  await tape.record('429: too many requests this minute', personas, { key: hurried.full, ...ONCE });
  const poor = await accounts.open({ cyclesPerMonth: 1 });
  const { id } = await tape.play(create, poor.full);
  await tape.play(processing(id), poor.full);
  tape.service.wait(5_000);
  await tape.record('429: no cycle left this month, without a retry', processing(id), {
    key: poor.full,
  });
}

/** Cases of calls that the service refuses because of the request's content. */
export async function requestCases(tape: Tape): Promise<void> {
  const instance = await anInstance(tape);
  const absent = { id: 'inst_00000000000000ff' };
  await tape.record('404: an unknown instance', { method: 'instances.get', arguments: absent });
  await tape.record('404: an unknown persona', {
    method: 'personas.get',
    arguments: { id: 'persona_none' },
  });
  const none = { method: 'instances.list', arguments: { limit: 0 } } as const;
  await tape.record('400: a parameter out of its range', none);
  const key = { idempotency_key: tape.newKey() };
  await tape.play(processing(instance, ORDER, key));
  const reused = processing(instance, { ...ORDER, signal_strength: 0.2 }, key);
  await tape.record('422: an idempotency key with another body', reused);
  for (const [what, change] of Object.entries(WRONG_OBSERVATIONS)) {
    await tape.record(`422: ${what}`, processing(instance, { ...ORDER, ...change }));
  }
  for (const [what, observations] of Object.entries(WRONG_BATCHES)) {
    const call: Call = { method: 'instance.process_batch', instance, arguments: { observations } };
    await tape.record(`422: ${what}`, call);
  }
  for (const [what, fields] of Object.entries(WRONG_FIELDS)) {
    await tape.record(`422: ${what}`, { method: 'instances.create', arguments: fields });
  }
  for (const [what, answers] of Object.entries(WRONG_TESTS)) {
    await tape.record(`422: ${what}`, { method: 'tests.submit', arguments: { answers } });
  }
  await billingCases(tape);
  const keyed: Call = { method: 'instances.create', arguments: { name: 'Bob' }, options: key };
  const { id } = await tape.play(keyed);
  await tape.play({ method: 'instances.delete', arguments: { id } });
  await tape.record('409: the instance of this key was deleted', keyed);
}

const at = (second: string, more: object = {}) => {
  return { ...ORDER, timestamp: `2026-01-15T11:00:${second}Z`, ...more };
};

const WRONG_OBSERVATIONS: Readonly<Record<string, object>> = {
  'a signal above 1': { signal_strength: 1.5 },
  'an invalid time': { timestamp: 'yesterday' },
  'a time in the future': { timestamp: '2026-01-15T13:00:00.000Z' },
  'a context of more than 8 KiB': { context: { note: 'x'.repeat(8_200) } },
};

const WRONG_BATCHES: Readonly<Record<string, readonly object[]>> = {
  'a batch whose second observation is out of range': [at('01'), at('03', { confidence: -1 })],
  'a batch in the wrong order': [at('03'), at('01')],
  'a batch with times on some observations': [at('01'), ORDER],
  'an empty batch': [],
};

const WRONG_FIELDS: Readonly<Record<string, { readonly name: string }>> = {
  'an empty name': { name: '' },
  'a name of 101 characters': { name: 'x'.repeat(101) },
};

const WRONG_TESTS: Readonly<Record<string, Json>> = {
  'a test with too few answers': [{ question_id: 'q01', value: 3 }],
  'a test that answers a question twice': [
    { question_id: 'q01', value: 3 },
    { question_id: 'q01', value: 4 },
  ],
};

async function billingCases(tape: Tape): Promise<void> {
  const urls = { success_url: 'https://app.example/done', cancel_url: 'https://app.example/no' };
  const checkout = (plan: string): Call => {
    return { method: 'billing.checkout', arguments: { plan, ...urls } };
  };
  await tape.record('422: a plan that is not sold', checkout('platinum'));
  await tape.record('409: an account with an agreed plan', checkout('pro'));
  await tape.record('404: a portal without a purchase', {
    method: 'billing.portal',
    arguments: { return_url: 'https://app.example/billing' },
  });
}
