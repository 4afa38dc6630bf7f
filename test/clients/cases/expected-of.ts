import type { FaultCode } from '#errors/error-codes';
import type { Call, Exchange, Json, WireAnswer } from '#test/clients/cases/wire-case';

type Answer = Exclude<WireAnswer, string>;

/** Error class for each code. */
export const ERROR_CLASSES = {
  unauthorized: 'UnauthorizedError',
  forbidden: 'ForbiddenError',
  not_found: 'NotFoundError',
  invalid_request: 'InvalidRequestError',
  conflict: 'ConflictError',
  throttled: 'ThrottledError',
  rate_limited: 'RateLimitedError',
  quota_exceeded: 'QuotaExceededError',
  service_unavailable: 'ServiceUnavailableError',
  internal: 'InternalServerError',
  billing_provider_not_configured: 'BillingProviderNotConfiguredError',
  webhook_verification_failed: 'WebhookVerificationFailedError',
  invalid_plan: 'InvalidPlanError',
} as const satisfies Readonly<Record<FaultCode, string>>;

/** Reasons of a 503 after which the outcome is unknown. Source: interface 7.5. */
const OPEN_REASONS = ['deadline_exceeded', 'outcome_unknown', 'engine_unavailable'];

/** Read-only methods that use POST. */
const READING_POSTS = ['instance.simulate', 'tests.submit'];

/** Expected outcome of a call from its last answer: a result or an error. */
export function expectedOf(call: Call, exchanges: readonly Exchange[]): Record<string, Json> {
  const last = exchanges.at(-1);
  const answer = last?.answer;
  if (last === undefined || answer === undefined || typeof answer === 'string') return {};
  if (answer.text !== undefined) return {};
  if (answer.status >= 400) return { error: errorOf(answer, isChange(call, last)) };
  const { headers, body, status } = answer;
  const isListed = body?.pagination !== undefined;
  const throttled = headers['x-throttled'] === 'true';
  const isBilled = call.method === 'instance.process' || call.method === 'instance.process_batch';
  const retryAfter = { retry_after_s: Number(headers['retry-after']) };
  return {
    ...(body === undefined ? { data: null } : { data_of: exchanges.length - 1 }),
    status,
    ...factsOf(answer),
    etag: headers['etag'] ?? null,
    is_replayed: headers['idempotent-replayed'] === 'true',
    is_not_modified: status === 304,
    attempts: exchanges.length,
    ...(isListed ? { pagination: body.pagination } : {}),
    ...(isBilled ? { throttled: throttled ? retryAfter : null } : {}),
  };
}

/** Whether the call can change state in the service. */
function isChange({ method }: Call, { request }: Exchange): boolean {
  return request.method !== 'GET' && !READING_POSTS.includes(method);
}

function errorOf(answer: Answer, isOfChange: boolean): Json {
  const { body, status, headers } = answer;
  const { field, reason } = body.details ?? {};
  const code: FaultCode = body.error;
  const wait = headers['retry-after'];
  const isOpen = status === 500 || (status === 503 && OPEN_REASONS.includes(reason));
  // These errors prove that nothing changed, but clients may report an unknown outcome.
  const isUnchecked = status === 505 || code === 'billing_provider_not_configured';
  return {
    class: ERROR_CLASSES[code] ?? 'ApiError',
    code,
    status,
    message: body.message,
    field: field ?? null,
    reason: reason ?? null,
    details: body.details ?? null,
    retry_after_s: wait === undefined ? null : Number(wait),
    ...(isUnchecked ? {} : { may_have_happened: isOfChange && isOpen }),
    ...factsOf(answer),
  };
}

/** Facts about request and account in every answer. */
function factsOf({ headers }: Answer): Json {
  const number = (name: string) => Number(headers[name]);
  const [limit, remaining] = [number('x-ratelimit-limit'), number('x-ratelimit-remaining')];
  const requests = { limit, remaining, reset_at_unix_s: number('x-ratelimit-reset') };
  return {
    request_id: headers['x-request-id'] ?? null,
    limits: { requests, monthly_remaining: number('x-monthly-remaining') },
  };
}
