import { FAULTS } from '#errors/error-codes';
import { REASONS } from '#errors/error-reasons';
import type { Talk } from '#test/fuzz/converse';
import type { Script } from '#test/fuzz/framing';
import type { Party } from '#test/fuzz/party';
import { type RawAnswer, readAnswers } from '#test/fuzz/read-answers';
import { assertRefusalShape } from '#test/support/calls/api-document';

/** Body of a 404 for a path outside the API. */
const PLAIN_NOT_FOUND = 'Not Found\n';

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

const LIMITS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-monthly-remaining',
];

/** Plan for a connection: sender, bytes and expected answers. */
export type Asked = {
  readonly party: Party;
  readonly others: readonly Party[];
  readonly script: Script;
  /** Whether all requests address another account's instance. */
  readonly isForeign: boolean;
  /** Whether every target begins with `/v1`. */
  readonly isApi: boolean;
};

/** Problems in the received data; empty if correct. */
export function judge(asked: Asked, talk: Talk): string[] {
  const { script } = asked;
  const { answers, rest } = readAnswers(talk.received, script.isHeadOnly);
  const problems = answers.flatMap((answer) => flawsOf(answer, asked));
  const wanted = script.answers;
  const isCut = script.steps.at(-1)?.kind === 'cut';
  if (rest.length > 0 && !isCut) problems.push('bytes that are no answer');
  if (talk.isOverdue) {
    problems.push(wanted === undefined ? 'the connection is not closed' : 'an answer is missing');
  }
  if (wanted !== undefined && answers.length > wanted) problems.push('more answers than requests');
  // `isClosed` is false after an answer with `Connection: close`: the service may then close.
  if (wanted !== undefined && talk.isClosed) {
    problems.push(`closed after ${answers.length} of ${wanted} answers`);
  }
  return [...problems, ...leaksIn(talk.received, asked)];
}

function flawsOf(answer: RawAnswer, { isApi, isForeign, script }: Asked): string[] {
  const { status, headers, text } = answer;
  const isPlain = !isApi && status === 404 && (text === PLAIN_NOT_FOUND || script.isHeadOnly);
  const missing = isPlain ? [] : LIMITS.filter((name) => !headers.has(name));
  return [
    ...missing.map((name) => `no ${name}`),
    ...(REQUEST_ID.test(headers.get('x-request-id') ?? '') ? [] : ['no X-Request-Id']),
    ...(isForeign && status < 400 ? [`${status} for another account's instance`] : []),
    ...(status >= 500 && !isDocumented(answer) ? [`an undocumented ${status}`] : []),
    ...(isPlain || script.isHeadOnly ? [] : envelopeFlaws(answer)),
  ];
}

function envelopeFlaws(answer: RawAnswer): string[] {
  const flaw = answer.status >= 400 ? flawOfRefusal(answer) : flawOfSuccess(answer);
  return flaw === undefined ? [] : [flaw];
}

/** Whether a 5xx is documented: a 503 with a reason of the catalog, or a 505 for an HTTP version. */
function isDocumented({ status, text }: RawAnswer): boolean {
  const body = parsed(text);
  const reason = body?.details?.reason ?? '';
  if (status === 505) return reason === 'http_version_not_supported';
  if (status !== 503 || body?.error !== 'service_unavailable') return false;
  return Object.hasOwn(REASONS, reason) && FAULTS.service_unavailable.http === status;
}

function flawOfRefusal({ status, headers, text }: RawAnswer): string | undefined {
  try {
    assertRefusalShape({ status, headers, text, body: parsed(text) });
    return undefined;
  } catch (error) {
    return `wrong envelope of ${status}: ${(error as Error).message.split('\n')[0]}`;
  }
}

function flawOfSuccess({ status, headers, text }: RawAnswer): string | undefined {
  if (status === 204 || status === 304) return text === '' ? undefined : `a body with ${status}`;
  if (status !== 200 && status !== 201) return `${status} is not in the API document`;
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'no JSON type';
  const body = parsed(text);
  return body?.data === undefined ? `wrong envelope of ${status}` : undefined;
}

/** Markers, keys and ids of other accounts in the received data, unless this party sent them. */
function leaksIn(received: Buffer, { others, script }: Asked): string[] {
  const text = received.toString('latin1');
  const sent = script.steps
    .map((step) => (step.kind === 'write' ? step.bytes.toString('latin1') : ''))
    .join('');
  return others.flatMap(({ name, marker, key, ids }) =>
    [marker, key, ...ids]
      .filter((secret) => text.includes(secret) && !sent.includes(secret))
      .map((secret) => `a leak from ${name}: ${secret === key ? 'its key' : secret}`),
  );
}

function parsed(text: string): ReturnType<typeof JSON.parse> {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
