import { z } from 'zod';
import { KEY_SCOPES } from '#accounts/api-key';
import { INSTANCES_OF, type Plan } from '#accounts/plan';
import { type AccountCaller, describedKey, endpoint } from '#edge/endpoints/endpoint';
import { windowResetS } from '#edge/http';
import { AuditAnswer, AuditQuery, auditAnswer } from '#edge/schemas/account';
import { Count, dataOf, Time } from '#edge/schemas/answers';

const PLANS = Object.keys(INSTANCES_OF) as Plan[];

const Usage = (what: string) =>
  z.strictObject({
    limit: Count.describe(`${what} that the plan allows.`),
    remaining: Count.describe(`${what} left.`),
    reset: Count.describe('Start of the next period, in Unix seconds.'),
  });

/** Body of the answer to `GET /account`. Source: interface 4.5. */
const Account = z
  .strictObject({
    plan: z.strictObject({
      name: z.enum(PLANS),
      requests_per_minute: Count,
      cycles_per_month: Count,
      instances_max: Count.describe('Maximum number of instances.'),
    }),
    usage: z.strictObject({ minute: Usage('Requests'), month: Usage('Cycles') }),
    key: z
      .strictObject({
        id: z.string().regex(/^key_[0-9a-f]{16}$/),
        scope: z
          .enum(KEY_SCOPES)
          .describe('Rights of the key: one or more words, separated by spaces.'),
        expires_at: Time.nullable().describe('`null`: never.'),
      })
      .describe('The key of this request.'),
    webhooks: z
      .strictObject({
        active: Count,
        failing: Count.describe('Endpoints without a success since their last failure.'),
        paused: Count.describe('Endpoints that get nothing until someone resumes them.'),
      })
      .nullable()
      .optional()
      .describe('Number of webhook endpoints. `null`: unknown at present. Absent in release 1.0.'),
  })
  .meta({ id: 'Account' });

/** Endpoint `GET /account`. Source: interface 4.5. */
export const getAccount = endpoint({
  name: 'getAccount',
  method: 'GET',
  path: '/account',
  tag: 'Account',
  summary: 'Get plan, usage and key',
  description:
    'Limits of the plan of your account, what is left after this request (as in the limit ' +
    'headers), the key of this request, and the state of your webhook endpoints. Needs no particular scope. Costs one request.',
  scope: 'any',
  response: dataOf(Account),
  examples: [{ summary: 'an account' }],
  handler: {
    kind: 'account',
    answer: async (_request, caller, { clock, webhooks }) => ({
      data: { ...viewOf(caller, clock.wallMs()), webhooks: await webhooks.counts(caller) },
    }),
  },
});

function viewOf(caller: AccountCaller, nowMs: number) {
  const { allowance } = caller;
  const { plan, keyId, keyScope, keyExpiresAtMs } = describedKey(caller);
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

/** Endpoint `GET /audit`. Source: decision 249. */
export const getAudit = endpoint({
  name: 'getAudit',
  method: 'GET',
  path: '/audit',
  tag: 'Account',
  summary: 'Read the audit trail of the account',
  description:
    'Who did what and when, newest first: changes of keys, plan, members and administration of ' +
    'your account, and every create, update, delete and reset of an instance. Observations are ' +
    'in the history of their instance.\n\n' +
    'A line with the outcome `begun` is written before its action. A later line refers to that ' +
    'line in `of` (`month.seq`) and has the final outcome: `done`, `repeated` or the code of the ' +
    'refusal. A write to an instance has a later line only if the write was refused or repeated. ' +
    '`action` matches prefixes: `key` matches every action on keys. A page reads at most 2,048 ' +
    'lines, so an empty page may have a `next_cursor`. Needs a key with the scope `audit`. Costs ' +
    'one request.',
  scope: 'audit',
  query: AuditQuery,
  response: AuditAnswer,
  examples: [{ summary: 'the newest lines', query: '?limit=3' }],
  handler: {
    kind: 'account',
    answer: async ({ query }, { accountId }, { audit }) =>
      await auditAnswer(query, (question) => audit.page(accountId, question)),
  },
});
