import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { CheckedRequest, Endpoint, LocalHandler } from '#edge/endpoints/endpoint';
import { readIdempotencyKey } from '#edge/serve/engine-calls';
import { readIfMatch } from '#edge/serve/headers';
import { parseJsonBody } from '#edge/serve/json';
import type { FaultReason } from '#fault/error-reasons';
import { type Fault, invalid, toFault } from '#fault/fault';
import type { EngineCommand, IdempotencyKey } from '#wire/engine-messages';

/** Zod leaves the offending value out of its issues unless asked; the reasons need it. */
const WITH_INPUT = { reportInput: true };

/** What nearly every request says, so that nothing needs to be looked for. */
const PLAIN_JSON = 'application/json';

/** Bytes that a URL holds only in percent-encoding. */
const NOT_ASCII = /[\u0080-\uffff]/;

/** Every `charset` of a media type. */
const CHARSETS = /;\s*charset\s*=\s*"?([^";\s]+)"?/gi;

/** A request as understood: what to do, or why it cannot be done. Nothing has happened yet. */
export type RequestPlan =
  | {
      readonly kind: 'command';
      readonly command: EngineCommand;
      /** Cycles that it may advance. */
      readonly cycles: number;
      readonly idempotency: IdempotencyKey | undefined;
      readonly ifMatch: string | undefined;
    }
  | {
      readonly kind: 'stream';
      readonly command: Extract<EngineCommand, { kind: 'readEvents' }>;
    }
  | {
      readonly kind: 'local';
      readonly handler: LocalHandler;
      readonly request: CheckedRequest<unknown, unknown>;
    }
  | { readonly kind: 'refused'; readonly fault: Fault };

/**
 * Checks query, headers and body of a request. Never throws: a refused body still costs a request,
 * so the refusal waits until the limiter has been asked (decision 35).
 */
export function planRequest(
  endpoint: Endpoint,
  request: FastifyRequest,
  nowMs: number,
): RequestPlan {
  try {
    const { query, named } = queryOf(endpoint, request);
    const bytes = request.body instanceof Buffer ? request.body : undefined;
    const body = bodyOf(endpoint, request, bytes);
    const { method, url, headers } = request;
    const idempotency = endpoint.isKeyed
      ? readIdempotencyKey(headers['idempotency-key'], method, url, bytes)
      : undefined;
    const ifMatch = endpoint.isGuarded ? readIfMatch(headers['if-match']) : undefined;
    const { id } = request.params as { id: string };
    const checked = { id, body, query, named, headers, url, nowMs };
    const { handler } = endpoint;
    if (handler.kind === 'notification') throw new Error('a notification has no plan');
    if (handler.kind === 'stream') return { kind: 'stream', command: handler.command(checked) };
    if (handler.kind !== 'engine') return { kind: 'local', handler, request: checked };
    const command = handler.command(checked);
    const cycles = endpoint.cyclesOf(checked);
    return { kind: 'command', command, cycles, idempotency, ifMatch };
  } catch (error) {
    return { kind: 'refused', fault: toFault(error) };
  }
}

/** A checked query, and which parameters the caller named. */
type Query = { readonly query: unknown; readonly named: ReadonlySet<string> };

/** The queries of requests that have none, by endpoint: checked once, because most have none. */
const noQueries = new Map<Endpoint, Query>();

function queryOf(endpoint: Endpoint, request: FastifyRequest): Query {
  if (request.url.includes('?')) {
    assertUtf8Query(request.url);
    return checkedQuery(endpoint, request.query as object);
  }
  const known = noQueries.get(endpoint) ?? checkedQuery(endpoint, {});
  noQueries.set(endpoint, known);
  return known;
}

/** Throws `invalid_parameter` for a value that is not UTF-8: a decoder would put other text in its place. */
function assertUtf8Query(url: string): void {
  for (const pair of url.slice(url.indexOf('?') + 1).split('&')) {
    if (isUtf8Escaped(pair)) continue;
    const [name = ''] = pair.split('=', 1);
    const field = isUtf8Escaped(name) ? decodeURIComponent(name) : 'query';
    throw invalid('invalid_parameter', field, `${field}: is not UTF-8 in percent-encoding`);
  }
}

function isUtf8Escaped(text: string): boolean {
  if (NOT_ASCII.test(text)) return false;
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function checkedQuery(endpoint: Endpoint, sent: object): Query {
  const parsed = endpoint.query.safeParse(sent, WITH_INPUT);
  if (!parsed.success) throw queryFault(parsed.error);
  return { query: parsed.data, named: new Set(Object.keys(sent)) };
}

function bodyOf(endpoint: Endpoint, request: FastifyRequest, bytes: Buffer | undefined): unknown {
  if (endpoint.compiledBody === undefined) return undefined;
  assertReadable(request.headers);
  if (bytes === undefined) {
    throw invalid('malformed_json', undefined, 'the body must be JSON (application/json)');
  }
  const value = parseJsonBody(bytes);
  const parsed = endpoint.compiledBody.safeParse(value, WITH_INPUT);
  if (!parsed.success) throw bodyFault(parsed.error);
  return parsed.data;
}

/**
 * JSON between systems is UTF-8 and nothing else (RFC 8259); another charset must be a mistake. A
 * compressed body is refused unopened, so that none can grow beyond its limit (attacks, API4).
 */
function assertReadable(headers: IncomingHttpHeaders): void {
  const { 'content-type': contentType = PLAIN_JSON, 'content-encoding': coding } = headers;
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw invalid('unsupported_media_type', 'Content-Encoding', 'send the body uncompressed');
  }
  if (contentType === PLAIN_JSON) return;
  for (const [, charset] of contentType.matchAll(CHARSETS)) {
    if (charset?.toLowerCase() === 'utf-8') continue;
    throw invalid('unsupported_media_type', 'Content-Type', 'the charset must be utf-8');
  }
}

type Issue = z.core.$ZodIssue;

/**
 * The refusal for a body that breaks a field rule: 422 with the JSON path of the first broken field
 * and a reason of the closed set. Source: decision 2.
 */
export function bodyFault(error: z.ZodError): Fault {
  const [issue] = error.issues;
  if (issue === undefined) return invalid('wrong_type', undefined, 'the body is not as documented');
  const field = pathOf(issue);
  const reason = reasonOf(issue);
  return invalid(reason, field === '' ? undefined : field, messageOf(issue, field));
}

/** The refusal for a query that breaks a rule: always 400 (decision 2). */
export function queryFault(error: z.ZodError): Fault {
  const [issue] = error.issues;
  const field = issue === undefined ? 'query' : pathOf(issue);
  const isUnknown = issue?.code === 'unrecognized_keys';
  const reason = isUnknown ? 'unknown_parameter' : 'invalid_parameter';
  const text = isUnknown ? 'no such parameter' : (issue?.message ?? 'not as documented');
  return invalid(reason, field, `${field}: ${text}`);
}

/** A custom issue of a schema may name its reason in `params.reason`. */
type ReasonParams = { readonly reason: FaultReason };

function reasonOf(issue: Issue): FaultReason {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'unknown_field';
    case 'invalid_value':
      return issue.input === undefined ? 'missing_field' : 'unknown_value';
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int' ? 'out_of_range' : 'too_short';
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int' ? 'out_of_range' : 'too_long';
    case 'custom':
      return (issue.params as ReasonParams | undefined)?.reason ?? 'wrong_type';
    case 'invalid_type':
      return typeReasonOf(issue);
    case 'invalid_format':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
      return 'wrong_type';
  }
}

/** The one number that a schema of numbers takes for another type is one too large, such as 1e999. */
function typeReasonOf({ expected, input }: z.core.$ZodIssueInvalidType): FaultReason {
  if (input === undefined) return 'missing_field';
  return expected === 'number' && typeof input === 'number' ? 'out_of_range' : 'wrong_type';
}

/** `observations[3].timestamp`: the way one would write it in code. */
function pathOf(issue: Issue): string {
  const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  return [...issue.path, ...keys].reduce<string>((path, part) => {
    if (typeof part === 'number') return `${path}[${part}]`;
    return path === '' ? String(part) : `${path}.${String(part)}`;
  }, '');
}

function messageOf(issue: Issue, field: string): string {
  const where = field === '' ? 'the body' : field;
  if (reasonOf(issue) === 'missing_field') return `${where}: required`;
  if (issue.code === 'unrecognized_keys') return `${where}: no such field`;
  return `${where}: ${issue.message}`;
}
