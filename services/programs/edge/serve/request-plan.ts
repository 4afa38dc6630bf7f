import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type {
  CheckedRequest,
  Endpoint,
  FleetRequest,
  LocalHandler,
} from '#edge/endpoints/endpoint';
import { readIfMatch } from '#edge/http';
import { readIdempotencyKey } from '#edge/serve/engine-calls';
import { parseJsonBody, parseJsonItems } from '#edge/serve/json';
import type { TimeSlice } from '#edge/serve/time-slice';
import type { FaultReason } from '#errors/error-reasons';
import { type Fault, invalid, toFault } from '#errors/fault';
import type { EngineCommand, FeedQuestion, IdempotencyKey } from '#grpc/engine-messages';

/** Zod omits the offending value from its issues by default. `reasonOf` needs the value. */
const WITH_INPUT = { reportInput: true };

/** Content type in nearly every request: compared first, without parsing. */
const PLAIN_JSON = 'application/json';

/** Characters that a URL may contain only in percent-encoding. */
const NOT_ASCII = /[\u0080-\uffff]/;

/** Matches every `charset` parameter in a media type. */
const CHARSETS = /;\s*charset\s*=\s*"?([^";\s]+)"?/gi;

/** Command whose repeated answers are an event stream. */
export type StreamCommand = Extract<EngineCommand, { kind: 'readEvents' | 'readFeed' }>;

/** A checked request: the command to run, or the refusal. Planning has no side effects. */
export type RequestPlan =
  | {
      readonly kind: 'command';
      readonly command: EngineCommand;
      /** Cycles to reserve: the maximum that the command may advance. */
      readonly cycles: number;
      readonly idempotency: IdempotencyKey | undefined;
      readonly ifMatch: string | undefined;
      /** Changes the text of the engine's answer; undefined for nearly every request. */
      readonly present?: ((body: string) => string) | undefined;
    }
  | {
      readonly kind: 'stream';
      readonly command: StreamCommand;
    }
  | {
      readonly kind: 'local';
      readonly handler: LocalHandler;
      readonly request: CheckedRequest<unknown, unknown>;
    }
  | { readonly kind: 'refused'; readonly fault: Fault };

/**
 * Checks a request's query, headers and body. Never throws: a refused request still costs one
 * request, so the refusal waits for the limiter (decision 35).
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
    if (handler.kind === 'fleet') throw new Error('fleet calls have their own plan');
    if (handler.kind === 'notification') throw new Error('notifications are served without a plan');
    if (handler.kind === 'stream') return { kind: 'stream', command: handler.command(checked) };
    if (handler.kind === 'feed') return feedPlan(handler.question(checked));
    if (handler.kind !== 'engine') return { kind: 'local', handler, request: checked };
    const command = handler.command(checked);
    const cycles = endpoint.cyclesOf(checked);
    const plan = { kind: 'command', command, cycles, idempotency, ifMatch } as const;
    const present = handler.present?.(checked);
    return present === undefined ? plan : { ...plan, present };
  } catch (error) {
    return { kind: 'refused', fault: toFault(error) };
  }
}

function feedPlan(question: FeedQuestion): RequestPlan {
  const command = { kind: 'readFeed', ...question } as const;
  if (question.isStream) return { kind: 'stream', command };
  return { kind: 'command', command, cycles: 0, idempotency: undefined, ifMatch: undefined };
}

/** Checks the headers and the body of a fleet call. Throws `invalid_request`. */
export async function planFleet(
  endpoint: Endpoint,
  request: FastifyRequest,
  nowMs: number,
  slice: TimeSlice,
): Promise<FleetRequest> {
  const { handler } = endpoint;
  if (handler.kind !== 'fleet') throw new Error(`${endpoint.name} is no fleet call`);
  queryOf(endpoint, request);
  const bytes = request.body instanceof Buffer ? request.body : undefined;
  const body = parseJsonItems(readableBody(request, bytes), handler.itemsMax);
  return await handler.request(body, nowMs, slice);
}

/** A checked query, and the names of the parameters that the caller sent. */
type Query = { readonly query: unknown; readonly named: ReadonlySet<string> };

/** Caches checked empty queries by endpoint, because most requests have no query. */
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

/** Throws `invalid_parameter` for a value that is not UTF-8. A decoder would replace such bytes. */
function assertUtf8Query(url: string): void {
  for (const pair of url.slice(url.indexOf('?') + 1).split('&')) {
    if (isUtf8Escaped(pair)) continue;
    const [name = ''] = pair.split('=', 1);
    const field = isUtf8Escaped(name) ? decodeURIComponent(name) : 'query';
    throw invalid('invalid_parameter', field, `${field}: must be percent-encoded UTF-8`);
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
  const { query } = endpoint;
  const gathered = 'shape' in query && 'tag' in Object(query.shape) ? tagsGathered(sent) : sent;
  const parsed = query.safeParse(gathered, WITH_INPUT);
  if (!parsed.success) throw queryFault(parsed.error);
  return { query: parsed.data, named: new Set(Object.keys(gathered)) };
}

/** Prefix of the parameters that want a tag: `tag.team=docs`. */
const TAG_PREFIX = 'tag.';

const NO_TAG = `${TAG_PREFIX}__proto__`;

/** Query with the parameters of tags as one object `tag`. */
function tagsGathered(sent: object): object {
  const isTag = ([name]: readonly [string, unknown]) => name.startsWith(TAG_PREFIX);
  const tags = Object.entries(sent).filter(isTag);
  if (tags.length === 0) return sent;
  // A schema does not see this key.
  if (tags.some(([name]) => name === NO_TAG)) {
    throw invalid('invalid_parameter', NO_TAG, `${NO_TAG}: no tag has this key`);
  }
  const rest = Object.entries(sent).filter((entry) => !isTag(entry));
  const tag = Object.fromEntries(
    tags.map(([name, value]) => [name.slice(TAG_PREFIX.length), value]),
  );
  return { tag, ...Object.fromEntries(rest) };
}

function bodyOf(endpoint: Endpoint, request: FastifyRequest, bytes: Buffer | undefined): unknown {
  if (endpoint.compiledBody === undefined) return undefined;
  return checked(endpoint.compiledBody, parseJsonBody(readableBody(request, bytes)));
}

/** A body, or a part of a body, with its defaults. Throws the fault of `bodyFault`. */
export function checked<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value, WITH_INPUT);
  if (!parsed.success) throw bodyFault(parsed.error);
  return parsed.data;
}

/** The bytes of a JSON body. Throws if there are none, or if the edge cannot read them. */
function readableBody({ headers }: FastifyRequest, bytes: Buffer | undefined): Buffer {
  assertReadable(headers);
  if (bytes !== undefined) return bytes;
  throw invalid('malformed_json', undefined, 'the body must be JSON (application/json)');
}

/**
 * Throws `unsupported_media_type` for a charset other than UTF-8 (RFC 8259) and for compression.
 * Compressed bodies are refused unread, so that no body expands beyond its limit (attacks, API4).
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
 * The refusal for an invalid body: 422 with the first invalid field's JSON path and a reason.
 * Source: decision 2.
 */
export function bodyFault(error: z.ZodError): Fault {
  const [first] = error.issues;
  if (first === undefined) return invalid('wrong_type', undefined, 'the body is invalid');
  const issue = issueOfKey(first) ?? first;
  const field = pathOf(issue);
  const reason = reasonOf(issue);
  return invalid(reason, field === '' ? undefined : field, messageOf(issue, field));
}

/** The refusal for an invalid query, always 400. Source: decision 2. */
export function queryFault(error: z.ZodError): Fault {
  const [first] = error.issues;
  if (first === undefined) return invalid('invalid_parameter', 'query', 'query: invalid');
  const issue = issueOfKey(first) ?? first;
  const field = pathOf(issue);
  if (issue.code === 'unrecognized_keys') {
    return invalid('unknown_parameter', field, `${field}: unknown parameter`);
  }
  const isRepeated = issue.code === 'invalid_type' && Array.isArray(issue.input);
  const text = isRepeated ? 'must appear only once' : issue.message;
  return invalid('invalid_parameter', field, `${field}: ${text}`);
}

/** A custom schema issue may set its reason in `params.reason`. */
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

/** The rule that a key of a record breaks, with the path of the key. Undefined for other issues. */
function issueOfKey(issue: Issue): Issue | undefined {
  const [broken] = issue.code === 'invalid_key' ? issue.issues : [];
  return broken && { ...broken, path: issue.path, message: `the key ${broken.message}` };
}

/**
 * Reason for a type error. Zod reports numbers beyond the double range, such as 1e999, as a wrong
 * type.
 */
function typeReasonOf({ expected, input }: z.core.$ZodIssueInvalidType): FaultReason {
  if (input === undefined) return 'missing_field';
  return expected === 'number' && typeof input === 'number' ? 'out_of_range' : 'wrong_type';
}

/** A field's path, such as `observations[3].timestamp`. */
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
  if (issue.code === 'unrecognized_keys') return `${where}: unknown field`;
  return `${where}: ${issue.message}`;
}
