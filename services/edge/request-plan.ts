import type { FastifyRequest } from 'fastify';
import { readIdempotencyKey } from '#edge/call-identity';
import { readIfMatch } from '#edge/conditions';
import { parseJsonBody } from '#edge/json-body';
import type { Operation, Task } from '#edge/operation';
import { bodyFault, queryFault } from '#edge/schema-fault';
import { type Fault, invalid, toFault } from '#fault/fault';
import type { IdempotencyKey } from '#wire/engine-messages';

/** Zod leaves the offending value out of its issues unless asked; the reasons need it. */
const WITH_INPUT = { reportInput: true };

/** `charset` of a media type, if there is one. */
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]+)"?/i;

/** A request as understood: what to do, or why it cannot be done. Nothing has happened yet. */
export type RequestPlan =
  | {
      readonly kind: 'task';
      readonly task: Task;
      readonly idempotency: IdempotencyKey | undefined;
      readonly ifMatch: string | undefined;
    }
  | { readonly kind: 'refused'; readonly fault: Fault };

/**
 * Checks query, headers and body of a request. Never throws: a refused body still costs a request,
 * so the refusal waits until the limiter has been asked (decision 35).
 */
export function planRequest(
  operation: Operation,
  request: FastifyRequest,
  nowMs: number,
): RequestPlan {
  try {
    const query = queryOf(operation, request);
    const bytes = request.body instanceof Buffer ? request.body : undefined;
    const body = bodyOf(operation, request, bytes);
    const { method, url, headers } = request;
    const idempotency = operation.isKeyed
      ? readIdempotencyKey(headers['idempotency-key'], method, url, bytes)
      : undefined;
    const ifMatch = operation.isGuarded ? readIfMatch(headers['if-match']) : undefined;
    const named = new Set(Object.keys(request.query as object));
    const { id } = request.params as { id: string };
    const task = operation.plan({ id, body, query, named, nowMs });
    return { kind: 'task', task, idempotency, ifMatch };
  } catch (error) {
    return { kind: 'refused', fault: toFault(error) };
  }
}

function queryOf(operation: Operation, request: FastifyRequest): unknown {
  const parsed = operation.query.safeParse(request.query, WITH_INPUT);
  if (!parsed.success) throw queryFault(parsed.error);
  return parsed.data;
}

function bodyOf(operation: Operation, request: FastifyRequest, bytes: Buffer | undefined): unknown {
  if (operation.body === undefined) return undefined;
  assertUtf8(request.headers['content-type'] ?? '');
  if (bytes === undefined) {
    throw invalid('malformed_json', undefined, 'the body must be JSON (application/json)');
  }
  const value = parseJsonBody(bytes);
  assertNoPrototype(value);
  const parsed = operation.body.safeParse(value, WITH_INPUT);
  if (!parsed.success) throw bodyFault(parsed.error);
  return parsed.data;
}

/** JSON between systems is UTF-8 and nothing else (RFC 8259); another charset must be a mistake. */
function assertUtf8(contentType: string): void {
  const charset = CHARSET.exec(contentType)?.[1];
  if (charset === undefined || charset.toLowerCase() === 'utf-8') return;
  throw invalid('unsupported_media_type', 'Content-Type', 'the charset must be utf-8');
}

/** Schemas do not see a field of this name, so that it would pass as if it were not there. */
function assertNoPrototype(value: unknown): void {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '__proto__')) return;
  throw invalid('unknown_field', '__proto__', '__proto__: no such field');
}
