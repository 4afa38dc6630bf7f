import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { NeededRight } from '#accounts/api-key';
import type { Json } from '#edge/document/schemas';
import { BODY_BYTES_MAX } from '#edge/http';
import {
  type DriftQuery,
  type HistoryQuery,
  type ListQuery,
  NoQuery,
} from '#edge/schemas/instance';
import type { AccountAudit, AccountBilling } from '#edge/serve/account';
import type { FaultCode } from '#fault/error-codes';
import type { FaultReason } from '#fault/error-reasons';
import { invalid } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { EngineCommand, RecordPage } from '#wire/engine-messages';
import type { Allowance, CallerDescription } from '#wire/limiter-messages';
import {
  instancesCursorFrom,
  pageOfInstances,
  pageOfRecords,
  type RecordsCursor,
  recordsCursorFrom,
  unusableCursor,
} from '#wire/list-cursor';

/** What the `id` in a path names, for the API document. */
export type PathId = {
  readonly description: string;
  readonly schema: Json;
  /** An id that names nothing. */
  readonly unknown: string;
};

const UNKNOWN_INSTANCE = 'inst_00000000000000ff';

/** Ids of instances. */
export const INSTANCE_ID: PathId = {
  description: 'Id of an instance.',
  schema: {
    type: 'string',
    minLength: UNKNOWN_INSTANCE.length,
    maxLength: UNKNOWN_INSTANCE.length,
    pattern: '^inst_[0-9a-f]{16}$',
  },
  unknown: UNKNOWN_INSTANCE,
};

/** A request that its endpoint's schemas have accepted. */
export type CheckedRequest<Body, Query> = {
  /** The path's `id`, not checked for form: an id of the wrong form is unknown (decision 19). */
  readonly id: string;
  readonly body: Body;
  readonly query: Query;
  /** Which query parameters the caller named. */
  readonly named: ReadonlySet<string>;
  readonly headers: IncomingHttpHeaders;
  /** Path and query, as they were sent. */
  readonly url: string;
  /** Wall-clock time in Unix milliseconds. */
  readonly nowMs: number;
};

/** An admitted caller, as an endpoint of its account sees it. */
export type AccountCaller = {
  readonly accountId: string;
  /** The figures behind the limit headers of this answer. */
  readonly allowance: Allowance;
  /** Plan and key. */
  readonly description: CallerDescription;
  readonly address: string;
  readonly requestId: string | undefined;
};

/** What endpoints of an account may use beside the request and its caller. */
export type AccountPorts = {
  readonly clock: Clock;
  readonly audit: AccountAudit;
  readonly billing: AccountBilling;
};

/**
 * Who answers the calls of an endpoint once they are admitted. All of them throw `invalid_request`
 * for what a schema cannot say.
 */
type Handler<Body, Query> =
  /** The engine that owns the instance (or the directory, for a list). `command` is pure. */
  | {
      readonly kind: 'engine';
      readonly command: (request: CheckedRequest<Body, Query>) => EngineCommand;
    }
  /** The same engine, again and again: its answers are the events of a stream (decision 244). */
  | {
      readonly kind: 'stream';
      readonly command: (
        request: CheckedRequest<Body, Query>,
      ) => Extract<EngineCommand, { kind: 'readEvents' }>;
    }
  /** The edge by itself, the same for every caller: reference data and stateless computation. */
  | {
      readonly kind: 'stateless';
      readonly answer: (request: CheckedRequest<Body, Query>) => Promise<object>;
    }
  /** The edge by itself, for the caller's account. The limiter describes the caller. */
  | {
      readonly kind: 'account';
      readonly answer: (
        request: CheckedRequest<Body, Query>,
        caller: AccountCaller,
        ports: AccountPorts,
      ) => Promise<object>;
    }
  /** `edge/serve/notifications`, by the bytes of the body: there is no caller. */
  | { readonly kind: 'notification' };

/** A handler of the edge's own. */
export type LocalHandler = Extract<Handler<unknown, unknown>, { kind: 'stateless' | 'account' }>;

/** A request of an endpoint whose answer the API document shows. */
type EndpointExample = {
  readonly summary: string;
  /** What stands in the path; if left out, an instance with a past. */
  readonly id?: string;
  /** With its question mark. */
  readonly query?: string;
};

/** One endpoint as data: routing, checking, documentation and meaning in one record. */
export type Endpoint = {
  /** Name in the API document, and of the test file. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path under `/v1` in Fastify's spelling, which is also the metric's route. */
  readonly path: string;
  /** What `:id` in the path names; undefined where it is not there. */
  readonly pathId: PathId | undefined;
  readonly tag: 'Instances' | 'Engine' | 'Test' | 'Personas' | 'Account' | 'Billing';
  readonly summary: string;
  /** What it promises beyond its summary, in Markdown. */
  readonly description: string;
  /** The right that a key needs; `none`: there is no key. Source: decisions 248 and 310. */
  readonly scope: NeededRight | 'none';
  /** Whether calls advance cycles and so cost quota. Source: interface 1.5. */
  readonly isBilled: boolean;
  /** Cycles that a call may advance: what is reserved before. */
  readonly cyclesOf: (request: CheckedRequest<unknown, unknown>) => number;
  /** Bytes that a body may have. */
  readonly bodyBytesMax: number;
  readonly success: 200 | 201;
  readonly query: z.ZodType;
  readonly body: z.ZodType | undefined;
  /** The same as `body`, compiled: what requests are checked with; undefined where bytes are taken as they are. */
  readonly compiledBody: z.ZodType | undefined;
  /** The body of a success, for the API document and for tests; never run on a live answer. */
  readonly response: z.ZodType;
  /** The reasons of refusals that do not follow from the rest of the record. */
  readonly refusals: readonly FaultReason[];
  /** The same, of refusals without a reason. */
  readonly refusalCodes: readonly FaultCode[];
  /** What changes an instance has its examples in `apidoc/example-day`. */
  readonly examples: readonly EndpointExample[];
  /** Whether `Idempotency-Key` is honoured. Source: decision 22. */
  readonly isKeyed: boolean;
  /** Whether `If-Match` is honoured. Source: decision 21. */
  readonly isGuarded: boolean;
  /** Whether the answer carries an ETag. Source: decision 21. */
  readonly isTagged: boolean;
  /** The action that the account's audit trail has of each call; undefined: it has none (decision 249). */
  readonly auditedAs: string | undefined;
  readonly handler: Handler<unknown, unknown>;
};

type Options<Body extends z.ZodType, Query extends z.ZodType> = Pick<
  Endpoint,
  'name' | 'method' | 'path' | 'tag' | 'summary' | 'description' | 'scope' | 'response'
> & {
  readonly pathId?: PathId;
  /** Left out: no call advances any. */
  readonly cycles?: (request: CheckedRequest<z.output<Body>, z.output<Query>>) => number;
  readonly bodyBytesMax?: number;
  readonly success?: 201;
  /** Left out: it takes none. */
  readonly query?: Query;
  readonly body?: Body;
  readonly refusals?: readonly FaultReason[];
  readonly refusalCodes?: readonly FaultCode[];
  readonly examples?: readonly EndpointExample[];
  readonly isKeyed?: true;
  readonly isGuarded?: true;
  readonly isTagged?: true;
  readonly auditedAs?: string;
  readonly handler: Handler<z.output<Body>, z.output<Query>>;
};

/** Declares an endpoint; its handler sees body and query as their schemas give them. */
export function endpoint<Body extends z.ZodType, Query extends z.ZodType = typeof NoQuery>(
  options: Options<Body, Query>,
): Endpoint {
  const { name, path, pathId, body, cycles, handler } = options;
  assert(path.includes(':id') === (pathId !== undefined), `${name}: what does its path name?`);
  // Keys, conditions and cycles are the engine's: nothing else would honour them.
  const isPlain = !options.isKeyed && !options.isGuarded && cycles === undefined;
  assert(
    options.auditedAs === undefined || options.scope === 'full',
    `${name}: what does it write?`,
  );
  const hasCaller = handler.kind !== 'notification';
  assert(hasCaller === (options.scope !== 'none'), `${name}: who may call it?`);
  assert(handler.kind === 'engine' || isPlain, `${name}: only an engine can do that`);
  return {
    ...options,
    pathId,
    isBilled: cycles !== undefined,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    success: options.success ?? 200,
    query: options.query ?? NoQuery,
    body,
    compiledBody: body === undefined || !hasCaller ? undefined : z.compile(body),
    refusals: options.refusals ?? [],
    refusalCodes: options.refusalCodes ?? [],
    examples: options.examples ?? [],
    isKeyed: options.isKeyed ?? false,
    isGuarded: options.isGuarded ?? false,
    isTagged: options.isTagged ?? false,
    auditedAs: options.auditedAs,
    // The pipeline runs exactly these two schemas before it calls either of them.
    cyclesOf: (cycles ?? noCycles) as Endpoint['cyclesOf'],
    handler: handler as Endpoint['handler'],
  };
}

function noCycles(): number {
  return 0;
}

type Named = Pick<CheckedRequest<unknown, unknown>, 'named'>;

/** The page of instances that a query asks for. Throws `invalid_parameter`. */
export function instancesPage(query: z.output<typeof ListQuery>, { named }: Named) {
  const { cursor: text, ...page } = query;
  if (text === undefined) return page;
  assertNoOffset(named);
  const cursor = instancesCursorFrom(text);
  for (const name of ['sort', 'order', 'search'] as const) {
    if (named.has(name) && page[name] !== cursor[name]) throw otherWalk(name);
  }
  return pageOfInstances(page.limit, cursor);
}

/** The page of an instance's history or drift that a query asks for. Throws `invalid_parameter`. */
export function recordsPage(
  list: RecordsCursor['list'],
  query: z.output<typeof HistoryQuery> | z.output<typeof DriftQuery>,
  { named, id }: Named & { readonly id: string },
): RecordPage {
  const { limit, offset, generation, cursor: text } = query;
  const isEveryGeneration = generation === 'all';
  if (text === undefined) return { limit, offset, isEveryGeneration };
  assertNoOffset(named);
  const cursor = recordsCursorFrom(text, list);
  if (cursor.instanceId !== id) throw unusableCursor('is of another instance');
  if (named.has('generation') && isEveryGeneration !== cursor.isEveryGeneration) {
    throw otherWalk('generation');
  }
  return pageOfRecords(limit, cursor);
}

function assertNoOffset(named: ReadonlySet<string>): void {
  if (named.has('offset')) {
    throw invalid('invalid_parameter', 'offset', 'offset: give a cursor or an offset, not both');
  }
}

function otherWalk(name: string) {
  return invalid('invalid_parameter', name, `${name}: the cursor is of a list with another one`);
}
