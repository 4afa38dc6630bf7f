import { z } from 'zod';
import { KEY_SCOPES } from '#accounts/key-scope';
import { INSTANCES_OF, type Plan } from '#accounts/plan';
import { type AccountCaller, endpoint } from '#edge/endpoint';
import { windowResetS } from '#edge/limit-headers';
import { Count, dataOf, Time } from '#edge/schemas/answers';

const PLANS = Object.keys(INSTANCES_OF) as Plan[];

const Usage = (what: string) =>
  z.strictObject({
    limit: Count.describe(`${what} that the plan allows.`),
    remaining: Count.describe(`${what} left.`),
    reset: Count.describe('When the next one begins, in Unix seconds.'),
  });

/** Source: interface 4.5. */
const Account = z
  .strictObject({
    plan: z.strictObject({
      name: z.enum(PLANS),
      requests_per_minute: Count,
      cycles_per_month: Count,
      instances_max: Count.describe('Instances that you may have at the same time.'),
    }),
    usage: z.strictObject({ minute: Usage('Requests'), month: Usage('Cycles') }),
    key: z
      .strictObject({
        id: z.string().regex(/^key_[0-9a-f]{16}$/),
        scope: z
          .enum(KEY_SCOPES)
          .describe('What the key may do: one word or more, with spaces between them.'),
        expires_at: Time.nullable().describe('`null`: never.'),
      })
      .describe('The key that this request was made with.'),
  })
  .meta({ id: 'Account' });

/** Plan and usage of the caller's account, and its own key. Source: interface 4.5. */
export const getAccount = endpoint({
  name: 'getAccount',
  method: 'GET',
  path: '/account',
  tag: 'Account',
  summary: 'Get plan, usage and key',
  description:
    'What the plan of your account allows, how much of it is left after this request (the figures ' +
    'of the limit headers), and the key that you use. Every key may ask, whatever its scope. Costs one request, like every read.',
  scope: 'any',
  response: dataOf(Account),
  examples: [{ summary: 'an account' }],
  handler: {
    kind: 'account',
    answer: async (_request, caller, { clock }) => ({ data: viewOf(caller, clock.wallMs()) }),
  },
});

function viewOf({ allowance, description }: AccountCaller, nowMs: number) {
  const { plan, keyId, keyScope, keyExpiresAtMs } = description;
  return {
    plan: {
      name: plan,
      requests_per_minute: allowance.requestsPerMinute,
      cycles_per_month: allowance.cyclesPerMonth,
      instances_max: allowance.instances,
    },
    usage: {
      minute: {
        limit: allowance.requestsPerMinute,
        remaining: allowance.requestsRemaining,
        reset: windowResetS(allowance, nowMs),
      },
      month: {
        limit: allowance.cyclesPerMonth,
        remaining: allowance.cyclesRemaining,
        reset: allowance.monthResetAtS,
      },
    },
    key: {
      id: keyId,
      scope: keyScope,
      expires_at: keyExpiresAtMs === undefined ? null : new Date(keyExpiresAtMs).toISOString(),
    },
  };
}
