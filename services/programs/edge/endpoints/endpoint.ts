import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { NeededRight } from '#accounts/api-key';
import type { Json } from '#edge/document/schemas';
import { BODY_BYTES_MAX } from '#edge/http';
import {
  type DriftQuery,
  filterOf,
  type HistoryQuery,
  type ListQuery,
  NoQuery,
} from '#edge/schemas/instance';
import type { AccountAudit, AccountBilling, AuditedCall } from '#edge/serve/account';
import type { ItemsBody } from '#edge/serve/json';
import type { TimeSlice } from '#edge/serve/time-slice';
import type { AccountWebhooks } from '#edge/serve/webhooks';
import type { FaultCode } from '#errors/error-codes';
import type { FaultReason } from '#errors/error-reasons';
import { type Fault, invalid } from '#errors/fault';
import type {
  EngineCommand,
  FeedQuestion,
  IdempotencyKey,
  ObservationInput,
  RecordPage,
} from '#grpc/engine-messages';
import type { Allowance, CallerDescription } from '#grpc/limiter-messages';
import {
  instancesCursorFrom,
  pageOfInstances,
  pageOfRecords,
  type RecordsCursor,
  recordsCursorFrom,
  unusableCursor,
} from '#grpc/list-cursor';
import type { Clock } from '#stdlib/clock';

/** An endpoint's path id, for the API document. */
export type PathId = {
  readonly description: string;
  readonly schema: Json;
  /** An example id that does not exist. */
  readonly unknown: string;
};

const UNKNOWN_INSTANCE = 'inst_00000000000000ff';

/** Path id of an instance. */
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
  /**
   * The `id` in the path. Its form is not checked: a malformed id is an unknown id (decision 19).
   */
  readonly id: string;
  readonly body: Body;
  readonly query: Query;
  /** Names of the query parameters that the caller sent. */
  readonly named: ReadonlySet<string>;
  readonly headers: IncomingHttpHeaders;
  /** Path and query as sent. */
  readonly url: string;
  /** Wall-clock time in Unix milliseconds. */
  readonly nowMs: number;
};

/** An admitted caller, for account endpoint handlers. */
export type AccountCaller = {
  readonly accountId: string;
  /** Figures for the limit headers of the answer. */
  readonly allowance: Allowance;
  /** The caller's plan and key; undefined for a member of the console. */
  readonly description: CallerDescription | undefined;
  readonly address: string;
  readonly requestId: string | undefined;
  /** Audit lines of the call; undefined if the endpoint is not audited. */
  readonly audited: AuditedCall | undefined;
};

/** Plan and key of a caller. The console serves no endpoint that needs them. */
export function describedKey({ description }: Pick<AccountCaller, 'description'>) {
  assert(description !== undefined, 'the caller is a member, not a key');
  return description;
}

/** Dependencies for account endpoint handlers. */
export type AccountPorts = {
  readonly clock: Clock;
  readonly audit: AccountAudit;
  readonly billing: AccountBilling;
  readonly webhooks: AccountWebhooks;
};

/** A valid observation for an engine. */
export type FleetObservation = {
  readonly kind: 'observation';
  readonly instanceId: string;
  readonly observation: ObservationInput;
  readonly idempotency: IdempotencyKey | undefined;
};

/** An observation that the edge refuses; `instanceId` is undefined if the item has none. */
type RefusedItem = {
  readonly kind: 'refused';
  readonly instanceId: string | undefined;
  readonly fault: Fault;
};

/** One item of a call, in input order. */
export type FleetItem = FleetObservation | RefusedItem;

/** A checked fleet call. */
export type FleetRequest = {
  readonly items: readonly FleetItem[];
  /** Whether results have snapshot, contract and drift of their instances. */
  readonly isStateWanted: boolean;
  /** Number of requests that the call counts as. */
  readonly requests: number;
  /** Maximum number of cycles that the call advances. */
  readonly cycles: number;
};

/**
 * Handles an endpoint's admitted calls. All kinds throw `invalid_request` for violations that a
 * schema cannot express.
 */
type Handler<Body, Query> =
  /** Answered by the instance's engine, or by the directory for a list. `command` is pure. */
  | {
      readonly kind: 'engine';
      readonly command: (request: CheckedRequest<Body, Query>) => EngineCommand;
      /**
       * Changes the engine's answer, which is JSON text, for this request. Returns undefined if the
       * answer stays as it is, which is the usual case.
       */
      readonly present?: (
        request: CheckedRequest<Body, Query>,
      ) => ((body: string) => string) | undefined;
    }
  /** Answered by the engines of many instances: one call per item of the body. */
  | {
      readonly kind: 'fleet';
      /** Maximum number of items. */
      readonly itemsMax: number;
      readonly request: (body: ItemsBody, nowMs: number, slice: TimeSlice) => Promise<FleetRequest>;
    }
  /** Answered by repeated calls to the same engine, as an event stream (decision 244). */
  | {
      readonly kind: 'stream';
      readonly command: (
        request: CheckedRequest<Body, Query>,
      ) => Extract<EngineCommand, { kind: 'readEvents' }>;
    }
  /** Answered by the feed of the account: as a page, or as an event stream. */
  | {
      readonly kind: 'feed';
      readonly question: (request: CheckedRequest<Body, Query>) => FeedQuestion;
    }
  /** Answered by the edge, identically for every caller: reference data and pure computation. */
  | {
      readonly kind: 'stateless';
      readonly answer: (request: CheckedRequest<Body, Query>) => Promise<object>;
    }
  /** Answered by the edge from the caller's account. The limiter describes the caller. */
  | {
      readonly kind: 'account';
      readonly answer: (
        request: CheckedRequest<Body, Query>,
        caller: AccountCaller,
        ports: AccountPorts,
      ) => Promise<object>;
      /** Path of the created resource, without the prefix; absent if nothing is created. */
      readonly locationOf?: (answer: object) => string;
    }
  /** Answered by `edge/serve/notifications` from the raw body. There is no caller. */
  | { readonly kind: 'notification' };

/** A handler without an engine call. */
export type LocalHandler = Extract<Handler<unknown, unknown>, { kind: 'stateless' | 'account' }>;

/** A request whose answer the API document shows as an example. */
type EndpointExample = {
  readonly summary: string;
  /** Id in the path; by default an instance with a history. */
  readonly id?: string;
  /** Query string with its question mark. */
  readonly query?: string;
};

/** One endpoint as data: route, checks, documentation and handler in one record. */
export type Endpoint = {
  /** Operation name in the API document, and test file name. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path under `/v1` in Fastify's notation; also the route label in metrics. */
  readonly path: string;
  /** Describes `:id` in the path; undefined if the path has no id. */
  readonly pathId: PathId | undefined;
  readonly tag:
    | ('Instances' | 'Engine' | 'Events' | 'Webhooks')
    | ('Test' | 'Personas' | 'Account' | 'Billing');
  readonly summary: string;
  /** Contract beyond the summary, in Markdown. */
  readonly description: string;
  /** Right that a key needs; `none` for endpoints without a key. Source: decisions 248 and 310. */
  readonly scope: NeededRight | 'none';
  /** Whether calls advance cycles and so use quota. Source: interface 1.5. */
  readonly isBilled: boolean;
  /** Cycles to reserve before a call: the maximum that the call may advance. */
  readonly cyclesOf: (request: CheckedRequest<unknown, unknown>) => number;
  /** Maximum body size, in bytes. */
  readonly bodyBytesMax: number;
  readonly success: 200 | 201;
  readonly query: z.ZodType;
  readonly body: z.ZodType | undefined;
  /** Compiled `body`, which checks requests; undefined if the handler checks the body itself. */
  readonly compiledBody: z.ZodType | undefined;
  /** Success body schema, for the API document and for tests. Never run on live answers. */
  readonly response: z.ZodType;
  /** Further refusals with a reason, besides those that the other fields imply. */
  readonly refusals: readonly FaultReason[];
  /** Further refusals with only a code, besides those that the other fields imply. */
  readonly refusalCodes: readonly FaultCode[];
  /**
   * Requests for examples. Endpoints that change instances have their requests in
   * `apidoc/example-day`.
   */
  readonly examples: readonly EndpointExample[];
  /** Whether `Idempotency-Key` is honoured. Source: decision 22. */
  readonly isKeyed: boolean;
  /** Whether `If-Match` is honoured. Source: decision 21. */
  readonly isGuarded: boolean;
  /** Whether the answer carries an ETag. Source: decision 21. */
  readonly isTagged: boolean;
  /** Action in the account's audit trail; undefined if calls are not audited (decision 249). */
  readonly auditedAs: string | undefined;
  readonly handler: Handler<unknown, unknown>;
};

/** Kinds of handlers that check the body themselves. */
const CHECKS_BODY: ReadonlySet<string> = new Set(['notification', 'fleet']);

type Options<Body extends z.ZodType, Query extends z.ZodType> = Pick<
  Endpoint,
  'name' | 'method' | 'path' | 'tag' | 'summary' | 'description' | 'scope' | 'response'
> & {
  readonly pathId?: PathId;
  /** Cycles to reserve before a call, as in `Endpoint.cyclesOf`. Default: no cycles. */
  readonly cycles?: (request: CheckedRequest<z.output<Body>, z.output<Query>>) => number;
  readonly bodyBytesMax?: number;
  readonly success?: 201;
  /** Schema of the query. Default: the endpoint takes no query. */
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

/** Declares an endpoint. Its handler gets body and query as parsed by their schemas. */
export function endpoint<Body extends z.ZodType, Query extends z.ZodType = typeof NoQuery>(
  options: Options<Body, Query>,
): Endpoint {
  const { name, path, pathId, body, cycles, handler } = options;
  assert(path.includes(':id') === (pathId !== undefined), `${name}: ':id' and pathId go together`);
  // Only the engine implements idempotency keys, conditions and cycles.
  const isPlain = !options.isKeyed && !options.isGuarded && cycles === undefined;
  assert(
    options.auditedAs === undefined || options.scope === 'full',
    `${name}: auditedAs requires the scope full`,
  );
  const hasCaller = handler.kind !== 'notification';
  assert(
    hasCaller === (options.scope !== 'none'),
    `${name}: scope none and a notification handler go together`,
  );
  assert(handler.kind === 'engine' || isPlain, `${name}: needs an engine handler`);
  return {
    ...options,
    pathId,
    isBilled: cycles !== undefined,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    success: options.success ?? 200,
    query: options.query ?? NoQuery,
    body,
    compiledBody: CHECKS_BODY.has(handler.kind) ? undefined : body && z.compile(body),
    refusals: options.refusals ?? [],
    refusalCodes: options.refusalCodes ?? [],
    examples: options.examples ?? [],
    isKeyed: options.isKeyed ?? false,
    isGuarded: options.isGuarded ?? false,
    isTagged: options.isTagged ?? false,
    auditedAs: options.auditedAs,
    // The types match: query and body are parsed with their schemas before these functions run.
    cyclesOf: (cycles ?? noCycles) as Endpoint['cyclesOf'],
    handler: handler as Endpoint['handler'],
  };
}

function noCycles(): number {
  return 0;
}

type Named = Pick<CheckedRequest<unknown, unknown>, 'named'>;

/** Parses an instance list page from a query. Throws `invalid_parameter`. */
export function instancesPage(query: z.output<typeof ListQuery>, { named }: Named) {
  const { limit, offset, cursor: text, sort, order, search } = query;
  const filter = filterOf(query);
  const page = { limit, offset, sort, order, search };
  if (text === undefined) {
    if (sort === 'changed_at' && offset > 0) {
      const reason = 'offset: cannot be combined with sort=changed_at; continue with cursor';
      throw invalid('invalid_parameter', 'offset', reason);
    }
    return filter === undefined ? page : { ...page, filter };
  }
  assertNoOffset(named);
  const cursor = instancesCursorFrom(text);
  for (const name of ['sort', 'order', 'search'] as const) {
    if (named.has(name) && page[name] !== cursor[name]) throw otherWalk(name);
  }
  for (const [name, part] of FILTERS) {
    const isOther = JSON.stringify(filter?.[part]) !== JSON.stringify(cursor.filter?.[part]);
    if (named.has(name) && isOther) throw otherWalk(name);
  }
  return pageOfInstances(limit, cursor);
}

/** Parameters of a filter, and their parts. */
const FILTERS = [
  ['stress', 'stress'],
  ['drift', 'drift'],
  ['dominant_mode', 'modes'],
  ['tag', 'tags'],
] as const;

/** Parses a history or drift page from a query. Throws `invalid_parameter`. */
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
  if (cursor.instanceId !== id) throw unusableCursor('belongs to another instance');
  if (named.has('generation') && isEveryGeneration !== cursor.isEveryGeneration) {
    throw otherWalk('generation');
  }
  return pageOfRecords(limit, cursor);
}

function assertNoOffset(named: ReadonlySet<string>): void {
  if (named.has('offset')) {
    const text = 'offset: cannot be combined with cursor; send only one';
    throw invalid('invalid_parameter', 'offset', text);
  }
}

function otherWalk(name: string) {
  const text = `${name}: differs from the value in the cursor; omit it, or send the same value`;
  return invalid('invalid_parameter', name, text);
}
