/** A failure reported by Schemathesis, with its request. */
export type SchemaFailure = {
  readonly check: string;
  readonly message: string;
  readonly operation: string;
  readonly request: { readonly headers: Readonly<Record<string, unknown>>; readonly text: string };
  readonly status: number;
  /** Header names in lower case. */
  readonly answerHeaders: Readonly<Record<string, readonly string[]>>;
  /** `details.reason` in the answer, if any. */
  readonly reason: string | undefined;
  /** Statuses of the results in the answer to a fleet call; empty for other answers. */
  readonly resultStatuses: readonly string[];
};

/** An accepted failure. */
export type SchemaException = {
  readonly name: string;
  /** Reason why the failure is accepted. */
  readonly because: string;
  readonly covers: (failure: SchemaFailure) => boolean;
};

/**
 * Rules that JSON Schema cannot express, by the reason of the refusal. The rules compare values with
 * each other, with the clock or with earlier calls.
 */
const INEXPRESSIBLE = new Map([
  ['idempotency_key_reused', 'the same key with another body is refused (decision 22)'],
  ['timestamp_in_future', 'the limit depends on the time of the request (decision 8)'],
  ['timestamp_order', 'times of a batch ascend by at least a second'],
  ['timestamps_mixed', 'either all observations of a batch have a time, or none'],
  ['too_few_answers', 'each mode needs answers to three of its five questions (model 6)'],
  ['duplicate_question', 'each question may be answered once (model 6)'],
  ['duplicate_key', 'JSON parsers drop duplicate keys before the schema is checked (decision 2)'],
  ['too_deep', 'a context may have at most 16 levels'],
  ['endpoint_refused', 'an operator may allow other addresses than public ones (interface 6.16)'],
  ['too_long', 'a serialized context may have at most 8 KiB'],
]);

/** Field names forbidden at any depth in a body (services/programs/edge/serve/json.ts). */
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
    name: 'a notification refused for its signature, or after too many refusals',
    because: 'only the payment provider can sign a notification (decision 248)',
    covers: ({ operation, status, reason }) =>
      operation.endsWith('/billing/notifications') &&
      (status === 400 || reason === 'too_many_refused_notifications'),
  },
  {
    name: 'a plan that cannot be bought, or a return URL that is not allowed',
    because: 'the schema allows any text, and the service checks plan and URL (decision 248)',
    covers: ({ check, operation, status, reason }) =>
      check === 'positive_data_acceptance' &&
      /\/billing\/(?:checkout|portal)$/.test(operation) &&
      status === 422 &&
      (reason === 'invalid_text' || reason === undefined),
  },
  {
    name: 'server-sent events, which are text and not JSON',
    because: 'the document describes their data in prose and by an example (decision 244)',
    covers: ({ check, operation, status }) =>
      check === 'response_schema_conformance' && status === 200 && operation.endsWith('/events'),
  },
  {
    name: 'an event that the instance has not reached yet',
    because: 'the document cannot contain the number of events (interface 6.1)',
    covers: ({ check, operation, status, reason = '' }) =>
      check === 'positive_data_acceptance' &&
      operation.endsWith('/events') &&
      status === 400 &&
      ['invalid_parameter', 'invalid_header'].includes(reason),
  },
  {
    name: 'a cursor that no page returned',
    because: 'a cursor is opaque, and replaces an offset (decision 281)',
    covers: ({ check, status, reason, request }) =>
      check === 'positive_data_acceptance' &&
      status === 400 &&
      reason === 'invalid_parameter' &&
      /^GET \S+\/(?:instances|history|drift)\?(?:\S*&)?cursor=/.test(request.text),
  },
  {
    name: 'cycles with points, or a cycle above the largest exact integer',
    because: 'a schema cannot exclude one parameter by another, or read the numbers of a text',
    covers: ({ check, status, reason, request }) =>
      check === 'positive_data_acceptance' &&
      status === 400 &&
      reason === 'invalid_parameter' &&
      /^GET \S+\/states\?(?:\S*&)?cycles=/.test(request.text),
  },
  {
    name: 'an invalid observation among those of a fleet call',
    because: 'only its own result has the error, and the others are applied (decision 317)',
    covers: ({ check, operation, status, resultStatuses }) =>
      check === 'negative_data_rejection' &&
      operation === 'POST /process' &&
      status === 200 &&
      resultStatuses.includes('refused'),
  },
  ...[...INEXPRESSIBLE].map(([reason, because]) => ({
    name: `a valid request refused with ${reason}`,
    because,
    covers: ({ check, status, reason: found }: SchemaFailure) =>
      check === 'positive_data_acceptance' && status === 422 && found === reason,
  })),
  {
    name: 'a key __proto__ deep in a context',
    because: 'the document has the rule in prose, because only a recursive schema could express it',
    covers: ({ check, status, reason, request }) =>
      check === 'positive_data_acceptance' &&
      status === 422 &&
      reason === 'unknown_field' &&
      FORBIDDEN_KEY.test(request.text),
  },
  {
    name: 'an invalid If-Match',
    because: 'Schemathesis 4.32 considers the number 0 a valid If-Match, despite the pattern',
    covers: ({ check, reason, request }) =>
      check === 'positive_data_acceptance' &&
      reason === 'invalid_header' &&
      !ENTITY_TAGS.test(String(request.headers['If-Match'] ?? '*')),
  },
];
