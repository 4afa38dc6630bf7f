/** A failure reported by Schemathesis, with its request. */
export type SchemaFailure = {
  readonly check: string;
  readonly message: string;
  readonly operation: string;
  readonly request: { readonly headers: Readonly<Record<string, unknown>>; readonly text: string };
  readonly status: number;
  /** Header names in lower case. */
  readonly answerHeaders: Readonly<Record<string, readonly string[]>>;
  /** `details.reason` of the answer, if any. */
  readonly reason: string | undefined;
};

/** An accepted failure. */
export type SchemaException = {
  readonly name: string;
  /** Reason why the failure is accepted. */
  readonly because: string;
  readonly covers: (failure: SchemaFailure) => boolean;
};

/** Rules that JSON Schema cannot express: between values, or between a call and earlier calls. */
const UNSAYABLE = new Map([
  ['idempotency_key_reused', 'the same key with another body is refused (decision 22)'],
  [
    'timestamp_in_future',
    'how far ahead of us a time lies depends on when it is sent (decision 8)',
  ],
  ['timestamp_order', 'times of a batch rise by a second at least'],
  ['timestamps_mixed', 'all observations of a batch carry a time, or none'],
  ['too_few_answers', 'each mode needs three of its five questions (model 6)'],
  ['duplicate_question', 'a question is answered once (model 6)'],
  [
    'duplicate_key',
    'a parser of JSON has dropped the second key before a schema sees it (decision 2)',
  ],
  ['too_deep', 'a context has 16 levels at most'],
  ['too_long', 'a context has 8 KiB at most, as it is serialized'],
]);

/** Field names forbidden at any depth of a body (services/programs/edge/json-body). */
const FORBIDDEN_KEY = /"(?:__proto__|prototype)":/;

const ENTITY_TAGS = /^(?:\*|(?:W\/)?"[^"]*".*)$/;

/** All accepted failures. */
export const SCHEMA_EXCEPTIONS: readonly SchemaException[] = [
  {
    name: '404 with Allow instead of 405',
    because: 'the table of codes has no 405 (decision 27)',
    covers: ({ check, status, answerHeaders }) =>
      check === 'unsupported_method' && status === 404 && answerHeaders['allow'] !== undefined,
  },
  {
    name: 'a notification refused for its signature, or for too many of them',
    because: 'only the payment provider can sign one (decision 248)',
    covers: ({ operation, status, reason }) =>
      operation.endsWith('/billing/notifications') &&
      (status === 400 || reason === 'too_many_refused_notifications'),
  },
  {
    name: 'a plan that is not sold, or an address that is none to return to',
    because: 'both are named by code and field, whatever text is sent (decision 248)',
    covers: ({ check, operation, status, reason }) =>
      check === 'positive_data_acceptance' &&
      /\/billing\/(?:checkout|portal)$/.test(operation) &&
      status === 422 &&
      (reason === 'invalid_text' || reason === undefined),
  },
  {
    name: 'server-sent events, which are a text and no JSON',
    because: 'the document shows their data in words and an example (decision 244)',
    covers: ({ check, operation, status }) =>
      check === 'response_schema_conformance' && status === 200 && operation.endsWith('/events'),
  },
  {
    name: 'an event that the instance has not reached yet',
    because: 'how many there are no document knows (interface 6.1)',
    covers: ({ check, operation, status, reason = '' }) =>
      check === 'positive_data_acceptance' &&
      operation.endsWith('/events') &&
      status === 400 &&
      ['invalid_parameter', 'invalid_header'].includes(reason),
  },
  {
    name: 'a cursor that no page gave',
    because: 'a cursor is opaque, and stands in the place of an offset (decision 281)',
    covers: ({ check, status, reason, request }) =>
      check === 'positive_data_acceptance' &&
      status === 400 &&
      reason === 'invalid_parameter' &&
      /^GET \S+\/(?:instances|history|drift)\?(?:\S*&)?cursor=/.test(request.text),
  },
  ...[...UNSAYABLE].map(([reason, because]) => ({
    name: `a valid request refused with ${reason}`,
    because,
    covers: ({ check, status, reason: found }: SchemaFailure) =>
      check === 'positive_data_acceptance' && status === 422 && found === reason,
  })),
  {
    name: 'a key __proto__ deep in a context',
    because:
      'the document says it in words: only a schema that names itself could say it at any depth',
    covers: ({ check, status, reason, request }) =>
      check === 'positive_data_acceptance' &&
      status === 422 &&
      reason === 'unknown_field' &&
      FORBIDDEN_KEY.test(request.text),
  },
  {
    name: 'an If-Match that is none',
    because: 'Schemathesis 4.32 calls the number 0 a valid If-Match, whatever its pattern says',
    covers: ({ check, reason, request }) =>
      check === 'positive_data_acceptance' &&
      reason === 'invalid_header' &&
      !ENTITY_TAGS.test(String(request.headers['If-Match'] ?? '*')),
  },
];
