import { endpoint } from '#edge/endpoint';
import { AuditAnswer, AuditQuery, auditAnswer } from '#edge/schemas/audit';

/** Source: decision 249. */
export const getAudit = endpoint({
  name: 'getAudit',
  method: 'GET',
  path: '/audit',
  tag: 'Account',
  summary: 'Read the audit trail of the account',
  description:
    'Who did what and when, newest first: keys, plan, members and administration of your account, and ' +
    'every create, update, delete and reset of an instance. What an instance observed is in its history. ' +
    'A line with the outcome `begun` stands there before its action happens; a later line whose `of` ' +
    'names it (`month.seq`) says how that ended, `done`, `repeated` or the code of the refusal. Writes to ' +
    'instances have such a line only where they were refused or repeated. `action` matches from its ' +
    'start: `key` is every action on keys. A page looks at 2,048 lines at most, so that it may be empty ' +
    'and yet have a `next_cursor`. Needs a key with the scope `audit`, and costs one request.',
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
