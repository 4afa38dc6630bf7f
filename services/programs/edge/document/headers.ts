import type { Json } from '#edge/document/schemas';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { CONDITION, CONDITION_LENGTH_MAX, EVENT_ID, REQUEST_ID } from '#edge/http';
import { IDEMPOTENCY_KEY, KEY_LENGTH_MAX } from '#edge/serve/engine-calls';

/** Every response header. Source: interface 8.2, limiter-headers, decisions 1, 21 and 22. */
export const RESPONSE_HEADERS: Readonly<Record<string, Json>> = {
  'X-RateLimit-Limit': integer(
    'Requests per minute that the plan allows; 0 if the caller is unknown.',
  ),
  'X-RateLimit-Remaining': integer('Requests left in the window after this request.'),
  'X-RateLimit-Reset': integer('End of the window, in Unix seconds. Constant within a window.'),
  'X-Monthly-Remaining': integer(
    'Cycles left in the month, minus the reservations of calls in flight.',
  ),
  RateLimit: text(
    'The remaining amounts as an IETF header; `t` is in seconds. Absent if the caller is unknown.',
    { examples: ['"minute";r=59;t=42, "month";r=99120;t=864000'] },
  ),
  'RateLimit-Policy': text('The limits as an IETF header. Absent if the caller is unknown.', {
    examples: ['"minute";q=60;w=60, "month";q=100000;qu="cycles"'],
  }),
  'X-Request-Id': text(
    'The id of this request: your `X-Request-Id` if it is well-formed, else a new id.',
    { pattern: REQUEST_ID.source },
  ),
  ETag: text('The version of the instance: `"snap_<16 hex>"`, a strong tag.', {
    pattern: '^"snap_[0-9a-f]{16}"$',
  }),
  Location: text('The path of the new instance.', { format: 'uri-reference' }),
  'X-Throttled': text('`true` if the observation came too early and changed nothing.', {
    const: 'true',
  }),
  'Retry-After': integer('Whole seconds to wait before a retry.', 1),
  'Idempotent-Replayed': text(
    '`true` if this is the stored answer of an earlier call with the same key.',
    { const: 'true' },
  ),
  'Preference-Applied': text('The preference of `Prefer` that this answer follows.'),
  'WWW-Authenticate': text('The only accepted scheme.', { const: 'Bearer' }),
};

/** All request header parameters, by component name. */
export const PARAMETERS: Readonly<Record<string, Json>> = {
  RequestId: parameter(
    'X-Request-Id',
    'Your own id for this request, 8 to 64 of `A-Z a-z 0-9 . _ -`. The answer and the ' +
      'logs of the service contain the id. An id that is not well-formed is replaced.',
  ),
  IdempotencyKey: parameter(
    'Idempotency-Key',
    'Makes a retry safe for 24 hours: the same key and body return the stored answer. 1 to 255 ' +
      'printable ASCII characters. Use a new UUIDv7: the service does not look up new UUIDv7 keys.',
    { minLength: 1, maxLength: KEY_LENGTH_MAX, pattern: IDEMPOTENCY_KEY.source },
  ),
  IfMatch: parameter(
    'If-Match',
    'The ETag of the version that you want to change, or `*`. If the instance has another ' +
      'version, the answer is 409 and nothing changes. Without this header, the last write wins.',
    {
      minLength: 1,
      maxLength: CONDITION_LENGTH_MAX,
      pattern: CONDITION.source,
      examples: ['"snap_0123456789abcdef"'],
    },
  ),
  IfNoneMatch: parameter(
    'If-None-Match',
    'The ETag of the version that you have. If the version is current, the answer is 304.',
  ),
  LastEventId: parameter(
    'Last-Event-ID',
    'The `id` of the last event that you received: the stream continues after this event. ' +
      'Browsers send the header when they reconnect. An empty header counts as none.',
    { pattern: `^$|${EVENT_ID.source}` },
  ),
  StripeSignature: parameter(
    'Stripe-Signature',
    'Time and signatures of the body, in the format of Stripe: `t=…,v1=…`.',
  ),
  PreferStrict: parameter(
    'Prefer',
    'With `handling=strict` (RFC 7240), a throttled observation is answered 429 `throttled` ' +
      'instead of 200. Unknown preferences are ignored.',
    { examples: ['handling=strict'] },
  ),
  PreferMinimal: parameter(
    'Prefer',
    'With `return=minimal` (RFC 7240), the answer is 204 without a body. Unknown preferences are ' +
      'ignored.',
    { examples: ['return=minimal'] },
  ),
};

/** Headers in every answer under `/v1`, including all refusals. Source: interface 8.2. */
const ALWAYS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Monthly-Remaining',
  'RateLimit',
  'RateLimit-Policy',
  'X-Request-Id',
];

/** Component names for an endpoint's header parameters. */
export function headerParametersOf(endpoint: Endpoint): string[] {
  const { method, isKeyed, isGuarded, isTagged, handler } = endpoint;
  return [
    ...(isKeyed ? ['IdempotencyKey'] : []),
    ...(isGuarded ? ['IfMatch'] : []),
    ...(method === 'GET' && isTagged ? ['IfNoneMatch'] : []),
    ...(handler.kind === 'stream' || handler.kind === 'feed' ? ['LastEventId'] : []),
    ...(endpoint.isBilled ? ['PreferStrict'] : []),
    ...(method === 'DELETE' ? ['PreferMinimal'] : []),
    ...(handler.kind === 'notification' ? ['StripeSignature'] : []),
    'RequestId',
  ];
}

/** Headers for an endpoint's success. */
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

/** Headers for an answer without body: a 304, or a deletion's 204 with `return=minimal`. */
export function bareHeadersOf(endpoint: Endpoint): Json {
  return headers(endpoint.method === 'DELETE' ? ['Preference-Applied'] : ['ETag']);
}

/** Headers for a refusal. */
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
