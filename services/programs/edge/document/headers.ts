import type { Json } from '#edge/document/schemas';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { REQUEST_ID } from '#edge/http';
import { IDEMPOTENCY_KEY, KEY_LENGTH_MAX } from '#edge/serve/engine-calls';
import { CONDITION, CONDITION_LENGTH_MAX, EVENT_ID } from '#edge/serve/headers';

/** Every response header. Source: interface 8.2, limiter-headers, decisions 1, 21 and 22. */
export const RESPONSE_HEADERS: Readonly<Record<string, Json>> = {
  'X-RateLimit-Limit': integer(
    'Requests per minute that the plan allows; 0 where no caller is known.',
  ),
  'X-RateLimit-Remaining': integer('Requests left in the window, after this one.'),
  'X-RateLimit-Reset': integer(
    'When the window ends, in Unix seconds. It does not move while the window lasts.',
  ),
  'X-Monthly-Remaining': integer(
    'Cycles left in the month, without those that calls under way have reserved.',
  ),
  RateLimit: text(
    'The same numbers in the IETF form; `t` counts seconds. Left out where no caller is known.',
    { examples: ['"minute";r=59;t=42, "month";r=99120;t=864000'] },
  ),
  'RateLimit-Policy': text('The limits in the IETF form. Left out where no caller is known.', {
    examples: ['"minute";q=60;w=60, "month";q=100000;qu="cycles"'],
  }),
  'X-Request-Id': text(
    'The id of this request: the one you sent, if it is well-formed, or a new one.',
    { pattern: REQUEST_ID.source },
  ),
  ETag: text('The version of the instance: `"snap_<16 hex>"`, a strong tag.', {
    pattern: '^"snap_[0-9a-f]{16}"$',
  }),
  Location: text('The path of the new instance.', { format: 'uri-reference' }),
  'X-Throttled': text('`true` where the observation came too early and changed nothing.', {
    const: 'true',
  }),
  'Retry-After': integer('Whole seconds after which the same call makes sense again.', 1),
  'Idempotent-Replayed': text(
    '`true` where this is the stored answer of an earlier call with the same key.',
    { const: 'true' },
  ),
  'Preference-Applied': text('The preference of `Prefer` that this answer follows.'),
  'WWW-Authenticate': text('The one scheme that is accepted.', { const: 'Bearer' }),
};

/** All header parameters of requests, by component name. */
export const PARAMETERS: Readonly<Record<string, Json>> = {
  RequestId: parameter(
    'X-Request-Id',
    'Your own id for this request, 8 to 64 of `A-Z a-z 0-9 . _ -`. It comes back in the answer ' +
      'and stands in our logs. One that is not well-formed is replaced.',
  ),
  IdempotencyKey: parameter(
    'Idempotency-Key',
    'Makes a repeated call safe for 24 hours: same key and same body give the stored answer. 1 ' +
      'to 255 printable ASCII characters. A UUIDv7 made just now needs no look-up: use one.',
    { minLength: 1, maxLength: KEY_LENGTH_MAX, pattern: IDEMPOTENCY_KEY.source },
  ),
  IfMatch: parameter(
    'If-Match',
    'The ETag of the version you mean to change, or `*`. If the instance has moved on, the ' +
      'answer is 409 and nothing changes. Without it the last write wins.',
    {
      minLength: 1,
      maxLength: CONDITION_LENGTH_MAX,
      pattern: CONDITION.source,
      examples: ['"snap_0123456789abcdef"'],
    },
  ),
  IfNoneMatch: parameter(
    'If-None-Match',
    'The ETag of the version you have; if it is still current, the answer is 304.',
  ),
  LastEventId: parameter(
    'Last-Event-ID',
    'The `id` of the last event that you have: the stream goes on behind it. Browsers send it by ' +
      'themselves when they come back.',
    { pattern: EVENT_ID.source },
  ),
  StripeSignature: parameter(
    'Stripe-Signature',
    'Time and signatures of the body, as Stripe makes them: `t=…,v1=…`.',
  ),
  PreferStrict: parameter(
    'Prefer',
    '`handling=strict` (RFC 7240) turns the throttled 200 into a 429 `throttled`. Preferences that ' +
      'are not known here are ignored.',
    { examples: ['handling=strict'] },
  ),
  PreferMinimal: parameter(
    'Prefer',
    '`return=minimal` (RFC 7240) answers 204 without a body. Preferences that are not known here ' +
      'are ignored.',
    { examples: ['return=minimal'] },
  ),
};

/** Headers of every answer under `/v1`, including all refusals. Source: interface 8.2. */
const ALWAYS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Monthly-Remaining',
  'RateLimit',
  'RateLimit-Policy',
  'X-Request-Id',
];

/** Component names of the header parameters of an endpoint. */
export function headerParametersOf(endpoint: Endpoint): string[] {
  const { method, isKeyed, isGuarded, isTagged, handler } = endpoint;
  return [
    ...(isKeyed ? ['IdempotencyKey'] : []),
    ...(isGuarded ? ['IfMatch'] : []),
    ...(method === 'GET' && isTagged ? ['IfNoneMatch'] : []),
    ...(handler.kind === 'stream' ? ['LastEventId'] : []),
    ...(endpoint.isBilled ? ['PreferStrict'] : []),
    ...(method === 'DELETE' ? ['PreferMinimal'] : []),
    ...(handler.kind === 'notification' ? ['StripeSignature'] : []),
    'RequestId',
  ];
}

/** Headers of an endpoint's success. */
export function successHeadersOf(endpoint: Endpoint): Json {
  const { method, success, isKeyed, isTagged } = endpoint;
  return headers([
    ...(isTagged ? ['ETag'] : []),
    ...(success === 201 ? ['Location'] : []),
    ...(isKeyed ? ['Idempotent-Replayed'] : []),
    ...(endpoint.isBilled ? ['X-Throttled', 'Retry-After'] : []),
    ...(method === 'DELETE' ? ['Preference-Applied'] : []),
  ]);
}

/** Headers of an answer without body: a 304, or the 204 of a deletion with `return=minimal`. */
export function bareHeadersOf(endpoint: Endpoint): Json {
  return headers(endpoint.method === 'DELETE' ? ['Preference-Applied'] : ['ETag']);
}

/** Headers of a refusal. */
export function refusalHeadersOf(endpoint: Endpoint, status: number): Json {
  const isThrottling = status === 429 && endpoint.isBilled;
  return headers([
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
    ...(isThrottling ? ['Preference-Applied'] : []),
  ]);
}

function headers(extra: readonly string[]): Json {
  const named = [...extra, ...ALWAYS].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ]);
  return Object.fromEntries(named);
}

function integer(description: string, minimum = 0): Json {
  return { description, schema: { type: 'integer', minimum } };
}

function text(description: string, rules: Json = {}): Json {
  return { description, schema: { type: 'string', ...rules } };
}

function parameter(name: string, description: string, rules: Json = {}): Json {
  return { name, in: 'header', ...text(description, rules) };
}
