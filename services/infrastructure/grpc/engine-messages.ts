/**
 * Messages between the edge and an engine, as domain data. A standalone process passes these
 * objects directly. Between processes, `engine-codec.ts` translates the objects to proto. Source:
 * architecture 5.
 */

import type { ListingPage, RecordsCursor } from '#grpc/list-cursor';
import type { Traced } from '#telemetry/tracer';

/**
 * Valid observation. `timestampMs` is Unix time. If undefined, the engine sets the time (decision
 * 152).
 */
export type ObservationInput = {
  /** Index of the mode in the model's fixed order. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  /** The `context` object as JSON text, stored and returned without interpretation. */
  readonly contextJson: string;
  readonly timestampMs: number | undefined;
};

/** The caller's `Idempotency-Key`, and a digest of its first request. Source: decision 22. */
export type IdempotencyKey = {
  readonly key: string;
  /** Hex digest of method, path and body. */
  readonly fingerprint: string;
  /**
   * Set while the cluster's secret is rotated. Another edge may have derived another call id for an
   * earlier attempt of this call. A new call id therefore does not prove that the key is new
   * (decision 146).
   */
  readonly isNameUnsure?: true;
};

/** Page of a list of records, over all generations or only the current one. */
export type RecordPage = {
  readonly limit: number;
  readonly offset: number;
  readonly isEveryGeneration: boolean;
  /**
   * Cursor at which the listing continues. Undefined to start at `offset`. Source: decision 281.
   */
  readonly cursor?: RecordsCursor | undefined;
};

/** Commands between engines, never sent by an edge. Source: architecture 3.6. */
export type PeerCommand =
  /** Puts the already stored row of `EngineCall.instanceId` into the account's directory. */
  | (TagFields & {
      readonly kind: 'putListingRow';
      readonly version: number;
      readonly name: string;
      readonly description: string;
      readonly createdAtMs: number;
    })
  /** Removes the row of `EngineCall.instanceId` from the account's directory permanently. */
  | { readonly kind: 'removeListingRow'; readonly version: number }
  /**
   * Reserves a place among the account's instances for `EngineCall.instanceId`, which is about to
   * be created. Refused as `forbidden` if the account already has `instancesMax` instances.
   */
  | { readonly kind: 'reservePlace'; readonly instancesMax: number }
  /** Reads cycle and energy of the account's instances without activating any instance. */
  | { readonly kind: 'readSummaries'; readonly instanceIds: readonly string[] }
  /** Reads the values of the account's instances for the index, from the owner of all of them. */
  | { readonly kind: 'readIndexed'; readonly instanceIds: readonly string[] }
  /** Records transitions of the account's instances in the account's feed. */
  | { readonly kind: 'recordTransitions'; readonly rows: readonly TransitionRow[] };

/**
 * Transitions of one committed change of an instance, in order, each as four numbers. Source:
 * `identity/transitions`.
 */
export type TransitionRow = readonly [
  instanceId: string,
  version: number,
  /** Server time of the change, in Unix milliseconds. */
  atMs: number,
  transitions: readonly (readonly number[])[],
];

/** Question for the events of an account. */
export type FeedQuestion = {
  /** Cursor after which the events begin. Undefined: `from` decides. */
  readonly cursor: string | undefined;
  readonly from: 'oldest' | 'newest';
  /** Maximum number of events. */
  readonly limit: number;
  /** Wanted types, as bits at their positions in `TRANSITIONS`. */
  readonly types: number;
  /** Whether the body is text of server-sent events. Otherwise it is a JSON page. */
  readonly isStream: boolean;
  /** Maximum time to wait for an event if there is none, in milliseconds. */
  readonly waitMs: number;
  /**
   * Whether the events before the cursor are read, newest first. Such a question has no stream, no
   * wait, and begins at the newest event if it has no cursor.
   */
  readonly isNewestFirst: boolean;
};

/** New values of a webhook endpoint. Absent values stay as they are. */
export type WebhookSettings = {
  readonly url?: string;
  readonly description?: string;
  /** Wanted types, as bits at their positions in `TRANSITIONS`. */
  readonly types?: number;
  /** Maximum number of changes in a message. */
  readonly rowsMax?: number;
  readonly isPaused?: boolean;
  /** New secret, sealed for the endpoint. The replaced secret signs for another day. */
  readonly sealedSecret?: string;
};

/** Command about the webhook endpoints of an account. The answer's body is JSON of the API. */
export type WebhookCommand = {
  readonly kind: 'webhook';
  /** Empty for the action `list`. */
  readonly endpointId: string;
  readonly action: WebhookAction;
  /** For `create`, with all values except `isPaused`, and for `change`. Otherwise empty. */
  readonly settings: WebhookSettings;
  /** Positions in the feed, for `redeliver`. Otherwise empty. */
  readonly positions: readonly number[];
};

/** Actions of a webhook command. Each has a fixed number on the wire: its position, from 0. */
export const WEBHOOK_ACTIONS = [
  'list',
  'read',
  'create',
  'change',
  'remove',
  'readDeliveries',
  'test',
  'redeliver',
] as const;

/** An action of a webhook command. */
export type WebhookAction = (typeof WEBHOOK_ACTIONS)[number];

/** Maximum number of changes that a call delivers again. */
export const REDELIVERIES_MAX = 200;

/** Retention command, sent by tools: deletes an instance's oldest rows (decision 234). */
export type TrimCommand = {
  readonly kind: 'trim';
  /** Ordinal of the last observation to delete. */
  readonly history: number;
  /** Ordinal of the last drift event to delete. */
  readonly drift: number;
  /** Generation of the last observation to delete. */
  readonly generation: number;
  /** Cycle of the last observation to delete. */
  readonly cycle: number;
  /** Time of the last observation to delete, in Unix milliseconds. */
  readonly timestampMs: number;
  /**
   * The model's state after that observation, as text with one character per byte. Undefined if
   * unknown.
   */
  readonly state: string | undefined;
};

/** Maximum number of stored states in one read of past states. Source: interface 4.2. */
export const POINTS_MAX = 200;

/** Maximum number of exact cycles in one read of past states. Source: interface 4.2. */
export const EXACT_CYCLES_MAX = 10;

/** State of a parent instance at a past position, in which a fork begins. Source: decision 318. */
export type ForkStart = {
  readonly parentId: string;
  /** Generation and cycle of the parent. */
  readonly generation: number;
  readonly cycle: number;
  /** Start of the parent's generation, in Unix milliseconds. */
  readonly originMs: number;
  /** Time of the last observation up to the state. Undefined if the generation has none. */
  readonly observedAtMs: number | undefined;
  readonly modelVersion: string;
  /** The model's state, as text with one character per byte. */
  readonly state: string;
};

/** Tags of an instance, or new tags that replace all tags. */
export type TagFields = {
  /** Object of keys and values, as JSON text. Absent: no tags, or tags that do not change. */
  readonly tagsJson?: string;
};

/** Wanted start of a fork. The edge reads `start` from the parent before it creates the fork. */
export type Fork = {
  readonly cycle: number;
  /** Undefined: the present generation of the parent. */
  readonly generation: number | undefined;
  readonly start?: ForkStart;
};

/** JSON of a fork's start and of its parent's present tags, between an engine and the edge. */
export function forkStartJson(start: ForkStart, { tagsJson }: TagFields): string {
  const state = Buffer.from(start.state, 'latin1').toString('base64');
  return JSON.stringify({ ...start, state, tagsJson });
}

/** Start and present tags of the parent, from the body of an answer to `readForkStart`. */
export function forkStartFrom(
  answer: Pick<EngineAnswer, 'body'>,
): TagFields & { readonly start: ForkStart } {
  const { tagsJson, ...start } = JSON.parse(bodyText(answer)) as ForkStart & TagFields;
  const { observedAtMs, state } = start;
  const decoded = {
    ...start,
    observedAtMs,
    state: Buffer.from(state, 'base64').toString('latin1'),
  };
  return tagsJson === undefined ? { start: decoded } : { start: decoded, tagsJson };
}

/** Position in the event stream of an instance. Source: decision 244. */
export type EventCursor = {
  /** Ordinal of the last observation sent. */
  readonly ordinal: number;
  /** Number of drift events up to that observation. */
  readonly drift: number;
  /** Generation of the instance. 0 if only the ordinal is known. */
  readonly generation: number;
  /** Latest version of the instance whose events were all sent. 0 if no such version exists. */
  readonly version: number;
};

/** Maximum number of instances in one `readSummaries`: the largest page. Source: interface 8.4. */
export const SUMMARIES_MAX = 100;

/** Command to an engine. Instance commands are listed in the order of interface 4. */
export type EngineCommand =
  | PeerCommand
  | TrimCommand
  | (TagFields & {
      readonly kind: 'create';
      readonly name: string;
      readonly description: string;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
      /**
       * Maximum number of instances in the account, including this instance. Undefined if there is
       * no limit.
       */
      readonly instancesMax?: number;
      /** Start of a fork, which replaces strengths and energy. Absent: a new identity. */
      readonly fork?: Fork;
    })
  | { readonly kind: 'readInstance' }
  | (TagFields & {
      readonly kind: 'rename';
      readonly name: string | undefined;
      readonly description: string | undefined;
    })
  | { readonly kind: 'remove' }
  | {
      readonly kind: 'process';
      readonly observations: readonly ObservationInput[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      /**
       * Whether the answer to a single observation without a key is a `BRIEF_START` object: the
       * members of a result of a fleet call. Engines of earlier releases answer the whole state.
       */
      readonly isBrief?: boolean | undefined;
      /**
       * Keys of the batch items, one entry per observation. Absent if no item has a key. An item
       * key has the same fingerprint as a single call with the same observation. Source: decision
       * 280.
       */
      readonly itemKeys?: readonly (IdempotencyKey | undefined)[] | undefined;
    }
  /** Applies observations to a copy of the instance. */
  | { readonly kind: 'simulate'; readonly observations: readonly ObservationInput[] }
  | { readonly kind: 'readSnapshot' }
  | { readonly kind: 'readContract' }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  | ({ readonly kind: 'readHistory' } & RecordPage)
  | ({ readonly kind: 'readDrift' } & RecordPage & { readonly isPaged: boolean })
  /**
   * Reads the events since a cursor, or from now on. If there are no events, the call waits up to
   * `waitMs` milliseconds for an event. The answer's body is text of server-sent events (decision
   * 244).
   */
  | {
      readonly kind: 'readEvents';
      readonly after: EventCursor | undefined;
      readonly waitMs: number;
    }
  /** Reads the feed of the account. */
  | ({ readonly kind: 'readFeed' } & FeedQuestion)
  | WebhookCommand
  /**
   * Reads past states: at exact cycles, or the stored states nearest to `points` even steps. One of
   * the two is set. Undefined generation: the present one. Source: decision 318.
   */
  | {
      readonly kind: 'readStates';
      readonly generation: number | undefined;
      readonly cycles: readonly number[];
      readonly points: number;
    }
  /** Reads the state in which a fork begins. The body is text from `forkStartJson`. */
  | {
      readonly kind: 'readForkStart';
      readonly generation: number | undefined;
      readonly cycle: number;
    }
  /**
   * Reads the counts of the account's instances, and its newest events of these types, as bits at
   * their positions in `TRANSITIONS`.
   */
  | { readonly kind: 'readFleet'; readonly types: number; readonly eventsMax: number }
  | ({ readonly kind: 'list' } & ListingPage);

/** Call to an engine: a command with its context. */
export type EngineCall = Traced & {
  /**
   * Account on whose behalf the call is made. For an instance of another account the engine answers
   * `not_found` (decision 19).
   */
  readonly accountId: string;
  /** Id of the instance. Empty for commands to an account. */
  readonly instanceId: string;
  /**
   * Permanent id of this call, for deduplication: a second call with the same id advances nothing.
   * An integer below 2^52, chosen by the edge or derived from the caller's key. Source:
   * architecture 3.5.
   */
  readonly callId: number;
  /**
   * Deadline, in Unix milliseconds, at most 10 s after the edge's first attempt. After the deadline
   * the call is dropped.
   */
  readonly deadlineAtMs: number;
  readonly idempotency: IdempotencyKey | undefined;
  /**
   * Whether only a stored answer may be returned, without any effect. Source: decision 22 (quota
   * used up).
   */
  readonly isReplayOnly: boolean;
  /** ETag of `If-Match`, `*`, or undefined. Source: decision 21. */
  readonly ifMatch: string | undefined;
  /**
   * Model version that the account has chosen for its instances. Undefined if the account has not
   * chosen a version (decision 238).
   */
  readonly modelVersion?: string | undefined;
  readonly command: EngineCommand;
};

/**
 * Creates a call of the cluster or its operator, without a call id, a key or a precondition. The
 * command must be idempotent.
 */
export function unnamedCall(
  asked: Pick<EngineCall, 'accountId' | 'instanceId' | 'deadlineAtMs' | 'command'>,
): EngineCall {
  const unnamed = { callId: 0, idempotency: undefined, isReplayOnly: false, ifMatch: undefined };
  return { ...asked, ...unnamed };
}

/** Answer of an engine. Refusals are thrown as `Fault`. */
export type EngineAnswer = {
  /**
   * Complete response body as JSON, rendered once by the engine. Text, or UTF-8 bytes if received
   * over the wire.
   */
  readonly body: string | Uint8Array;
  /** Strong ETag with its quotes. Empty where decision 21 defines no ETag. */
  readonly etag: string;
  /** Number of cycles that this call actually advanced. Only these cycles are billed. */
  readonly cycles: number;
  /** Seconds for `Retry-After` if the observation came too early (decision 1); otherwise 0. */
  readonly throttledRetryAfterS: number;
  /** Whether this is the stored answer of an earlier call with the same key. */
  readonly isReplayed: boolean;
  /**
   * Set by routing on a replay that follows an attempt of unknown outcome. The replayed answer may
   * be the result of that attempt, so this call may have used cycles.
   */
  readonly isPerhapsOwn?: true;
  /** Position at which the next call continues. Set for `readEvents`. */
  readonly cursor?: EventCursor;
  /** Cursor at which the next call continues. Set for `readFeed`. */
  readonly next?: string;
  /** Whether a feed has no event after the cursor at present. Set for `readFeed` in the feed's process. */
  readonly isQuiet?: boolean;
};

/** Start of the body of a brief answer. Every other body starts with `{"data":`. */
export const BRIEF_START = '{"cycle":';

/** Body of an answer as text. */
export function bodyText({ body }: Pick<EngineAnswer, 'body'>): string {
  if (typeof body === 'string') return body;
  // A view of the bytes, not a copy.
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

/**
 * Creates an answer that advanced no cycle, was not throttled and is no replay. `etag` includes its
 * quotes.
 */
export function plainAnswer(body: string | Uint8Array, etag = ''): EngineAnswer {
  return { body, etag, cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
}

/**
 * Interface of an engine for the edge. Throws the engine's faults. Never answers after the
 * deadline.
 */
export interface EngineClient {
  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer>;
}
