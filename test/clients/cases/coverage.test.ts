import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EVENT_DATA } from '#clients/models/event-models';
import { PARAMETERS, RESPONSE_HEADERS } from '#edge/document/headers';
import { ENDPOINTS } from '#edge/endpoints/all';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { type FaultReason, REASONS } from '#errors/error-reasons';
import { ERROR_CLASSES } from '#test/clients/cases/expected-of';
import { caseFiles } from '#test/clients/cases/files';
import {
  endpointOf,
  METHODS,
  RAW_METHOD,
  type WireAnswer,
  type WireCase,
} from '#test/clients/cases/wire-case';

const cases = [...caseFiles().values()].flatMap((file) => file.cases);

type Sent = Exclude<WireAnswer, string>;
const isSent = (answer: WireAnswer | undefined): answer is Sent => typeof answer === 'object';
const sentIn = ({ exchanges }: WireCase) => exchanges.map(({ answer }) => answer).filter(isSent);
const allSent = cases.flatMap(sentIn);

/** Names in the API document that only payment notifications use. Clients send none. */
const NOT_SHOWN = {
  endpoint: 'notifyBilling',
  code: 'webhook_verification_failed' satisfies FaultCode,
  reason: 'too_many_refused_notifications' satisfies FaultReason,
  parameters: ['StripeSignature', 'PreferMinimal'],
};

const endpoints = ENDPOINTS.filter(({ name }) => name !== NOT_SHOWN.endpoint);

/** Cases that call an endpoint. */
const casesOf = (endpoint: string) => cases.filter(({ call }) => endpointOf(call) === endpoint);

/** Whether a case of the endpoint has a matching answer. */
const has = (endpoint: string, like: (answer: Sent) => boolean) =>
  casesOf(endpoint).some((each) => sentIn(each).some(like));

const covered = suite('wire cases');

covered('cover every endpoint, and every client method', () => {
  for (const { name, success } of endpoints) {
    assert.ok(
      has(name, ({ status }) => status === success),
      name,
    );
  }
  for (const method of [...Object.keys(METHODS), RAW_METHOD]) {
    assert.ok(
      cases.some(({ call }) => call.method === method),
      method,
    );
  }
});

covered('cover every feature of an endpoint', () => {
  for (const { name, method, isKeyed, isTagged, isGuarded, isBilled } of endpoints) {
    const replayed = ({ headers }: Sent) => headers['idempotent-replayed'] === 'true';
    if (isKeyed) assert.ok(has(name, replayed), `${name}: replayed`);
    const unchanged = ({ status }: Sent) => status === 304;
    if (isTagged && method === 'GET') assert.ok(has(name, unchanged), `${name}: not modified`);
    const changed = ({ body }: Sent) => body?.details?.reason === 'version_mismatch';
    if (isGuarded) assert.ok(has(name, changed), `${name}: If-Match`);
    const throttled = ({ headers }: Sent) => headers['x-throttled'] === 'true';
    const strict = ({ body }: Sent) => body?.error === 'throttled';
    if (isBilled) assert.ok(has(name, throttled) && has(name, strict), `${name}: throttled`);
  }
});

covered('cover failed attempts of every endpoint', () => {
  for (const { name } of endpoints) {
    const isHindered = casesOf(name).some(({ exchanges }) => {
      const [{ answer } = {}] = exchanges;
      return !isSent(answer) || answer.status >= 500 || answer.after === 'cut';
    });
    assert.ok(isHindered, name);
  }
});

covered('cover every error code and its error class', () => {
  const codes = (Object.keys(FAULTS) as FaultCode[]).filter((code) => code !== NOT_SHOWN.code);
  for (const code of codes) {
    const expected = cases.find(({ expect }) => expect['error']?.code === code)?.expect['error'];
    assert.is(expected?.class, ERROR_CLASSES[code], code);
  }
});

covered('cover every reason', () => {
  // The client opens a temporarily refused stream again, so this reason leads to no error.
  const ofStreams = allSent.map(({ body }) => body?.details?.reason).filter(isWaitedOut);
  const seen = new Set([...cases.map(({ expect }) => expect['error']?.reason), ...ofStreams]);
  const reasons = Object.keys(REASONS).filter((reason) => reason !== NOT_SHOWN.reason);
  assert.equal(
    reasons.filter((reason) => !seen.has(reason)),
    [],
  );
});

covered('cover recovery from every retryable reason of a 503', () => {
  const left = Object.entries(REASONS).filter(([reason, row]) => {
    const isOfClients = row.code === 'service_unavailable' && reason !== NOT_SHOWN.reason;
    return isOfClients && !cases.some((each) => comesBackFrom(each, reason));
  });
  assert.equal(left, []);
});

function comesBackFrom({ exchanges, expect }: WireCase, reason: string): boolean {
  const [{ answer } = {}] = exchanges;
  const isMet = isSent(answer) && answer.body?.details?.reason === reason;
  return isMet && exchanges.length > 1 && expect['data_of'] !== undefined;
}

const isWaitedOut = (reason: unknown) => reason === ('too_many_streams' satisfies FaultReason);

covered('cover every header of requests and answers', () => {
  const sent = new Set(
    cases.flatMap(({ exchanges }) => exchanges.flatMap((each) => namesOf(each.request.headers))),
  );
  for (const [parameter, described] of Object.entries(PARAMETERS)) {
    if (NOT_SHOWN.parameters.includes(parameter)) continue;
    assert.ok(sent.has(String(described['name']).toLowerCase()), parameter);
  }
  const answered = new Set(allSent.flatMap(({ headers }) => namesOf(headers)));
  for (const name of Object.keys(RESPONSE_HEADERS)) {
    assert.ok(answered.has(name.toLowerCase()), name);
  }
});

const namesOf = (headers: Readonly<Record<string, string | null>>) =>
  Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [name]));

/** Rows of the table in interface 8.2, by their first words, with a match for answers. */
const ROWS: Readonly<Record<string, (answer: Sent) => boolean>> = {
  'any with a valid key': ({ status, headers }) =>
    status === 200 && Number(headers['x-ratelimit-limit']) > 0,
  '429 `rate_limited`': ({ body }) => body?.error === 'rate_limited',
  '429 `quota_exceeded`': ({ body }) => body?.error === 'quota_exceeded',
  throttled: ({ headers }) => headers['x-throttled'] === 'true',
  '401, unreadable HTTP': ({ headers }) => headers['www-authenticate'] === 'Bearer',
  '503, because the service cannot check the limits': ({ headers, body }) =>
    body?.details?.reason === 'limiter_unavailable' && headers['retry-after'] === '2',
  '503, nothing has changed': ({ headers, body }) =>
    body?.details?.reason === 'overloaded' && headers['retry-after'] === '1',
  '503, outcome unknown': ({ headers, body }) =>
    body?.details?.reason === 'outcome_unknown' && headers['retry-after'] === '1',
  replayed: ({ headers }) => headers['idempotent-replayed'] === 'true',
};

covered('cover every row of the table of limit headers', () => {
  const document = readFileSync('docs/interface.md', 'utf8');
  const [, section = ''] = /### 8\.2 Headers([\s\S]*?)### 8\.3/.exec(document) ?? [];
  const [usual = '', differing = ''] = section.split('| Answer | Different headers |\n|---|---|\n');
  for (const name of ['Limit', 'Remaining', 'Reset'])
    assert.match(usual, `| \`X-RateLimit-${name}\` |`);
  assert.match(usual, '| `X-Monthly-Remaining` |');
  const rows = [...differing.matchAll(/^\| ([^|]+?) \|/gm)].map(([, answer = '']) => answer);
  const listed = ['any with a valid key', ...rows];
  assert.is(listed.length, Object.keys(ROWS).length, 'number of rows in the document');
  for (const row of listed) {
    const [, isShown] = Object.entries(ROWS).find(([begin]) => row.startsWith(begin)) ?? [];
    assert.ok(isShown, `no case covers the row: ${row}`);
    assert.ok(allSent.some(isShown), row);
  }
});

covered('cover every event of interface 6, and an unknown event', () => {
  const document = readFileSync('docs/interface.md', 'utf8');
  const [, section = ''] = /### Events of an instance([\s\S]*?)###/.exec(document) ?? [];
  const documented = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, event = '']) => event);
  assert.equal(documented.sort(), Object.keys(EVENT_DATA).sort());
  const seen = new Set(
    casesOf('streamEvents')
      .flatMap(({ expect }) => expect['events'] ?? [])
      .map(({ event }) => event),
  );
  for (const event of documented) assert.ok(seen.has(event), event);
  assert.ok([...seen].some((event) => !documented.includes(event)));
});

covered.run();
