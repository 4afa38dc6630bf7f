/**
 * What the edge and an engine say to each other, as domain data. Standalone hands these objects
 * over directly; between processes `engine-codec.ts` turns them into proto. Source: architecture 5.
 */

import type { Traced } from '#platform/tracer';
import type { InstancesCursor, RecordsCursor } from '#wire/list-cursor';

/** A valid observation. `timestampMs` is Unix time; left out, the engine stamps it (decision 152). */
export type ObservationInput = {
  /** Index of the mode in the fixed order of the model. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  /** The `context` object as JSON text: stored and given back, never interpreted. */
  readonly contextJson: string;
  readonly timestampMs: number | undefined;
};

/** The caller's `Idempotency-Key` and what it was first used for. Source: decision 22. */
export type IdempotencyKey = {
  readonly key: string;
  /** Hex digest of method, path and body. */
  readonly fingerprint: string;
  /**
   * Set while the cluster's secret is changed: another edge may have named a try of this call
   * otherwise, so that a new call id does not say that the key is new (decision 146).
   */
  readonly isNameUnsure?: true;
};

/** Which records of a list: `all` generations or only the current one. */
export type RecordPage = {
  readonly limit: number;
  readonly offset: number;
  readonly isEveryGeneration: boolean;
  /** Where a walk goes on; undefined: at `offset`. Source: decision 281. */
  readonly cursor?: RecordsCursor | undefined;
};

/** What engines ask of each other and no edge ever does. Source: architecture 3.6. */
export type PeerCommand =
  /** Notifies the account's directory of the row of `EngineCall.instanceId`, which is stored already. */
  | {
      readonly kind: 'putListingRow';
      readonly version: number;
      readonly name: string;
      readonly description: string;
      readonly createdAtMs: number;
    }
  /** Notifies the account's directory that the row of `EngineCall.instanceId` is gone for good. */
  | { readonly kind: 'removeListingRow'; readonly version: number }
  /**
   * Keeps a place among the account's instances for `EngineCall.instanceId`, which is about to be
   * created. Refused as `forbidden` when the account has `instancesMax` of them.
   */
  | { readonly kind: 'reservePlace'; readonly instancesMax: number }
  /** Cycle and energy of instances of the account, active or not, without activating them. */
  | { readonly kind: 'readSummaries'; readonly instanceIds: readonly string[] };

/** What only tools ask: an instance's oldest rows are deleted (decision 234). */
export type TrimCommand = {
  readonly kind: 'trim';
  /** Ordinals of the last observation and the last drift event that go. */
  readonly history: number;
  readonly drift: number;
  /** Of that observation: its generation, cycle and time. */
  readonly generation: number;
  readonly cycle: number;
  readonly timestampMs: number;
  /** The model's state after it, a character for each byte; undefined where it is not known. */
  readonly state: string | undefined;
};

/** Where a stream of an instance's events stands. Source: decision 244. */
export type EventCursor = {
  /** Of the last observation that was sent. */
  readonly ordinal: number;
  /** How many drift events the observations up to it have brought. */
  readonly drift: number;
  /** Of the instance; 0: only the ordinal is known. */
  readonly generation: number;
  /** The version of the instance of which everything was sent; 0: of none. */
  readonly version: number;
};

/** Most instances of one `readSummaries`: those of the largest page. Source: interface 8.4. */
export const SUMMARIES_MAX = 100;

/** The command an engine is asked for; instance commands in the order of interface 4. */
export type EngineCommand =
  | PeerCommand
  | TrimCommand
  | {
      readonly kind: 'create';
      readonly name: string;
      readonly description: string;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
      /** Instances that the account may have, this one included; undefined: they are not counted. */
      readonly instancesMax?: number;
    }
  | { readonly kind: 'readInstance' }
  | {
      readonly kind: 'rename';
      readonly name: string | undefined;
      readonly description: string | undefined;
    }
  | { readonly kind: 'remove' }
  | {
      readonly kind: 'process';
      readonly observations: readonly ObservationInput[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      /**
       * Keys of the items of a batch, as many as observations; absent: no item has one. A key's
       * fingerprint is that of a single call with the same observation. Source: decision 280.
       */
      readonly itemKeys?: readonly (IdempotencyKey | undefined)[] | undefined;
    }
  /** What observations would do; they are applied to a copy. */
  | { readonly kind: 'simulate'; readonly observations: readonly ObservationInput[] }
  | { readonly kind: 'readSnapshot' }
  | { readonly kind: 'readContract' }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  | ({ readonly kind: 'readHistory' } & RecordPage)
  | ({ readonly kind: 'readDrift' } & RecordPage & { readonly isPaged: boolean })
  /**
   * What has happened since a cursor, or from now on; waits so long for something to happen, in
   * milliseconds, if nothing has. The body of the answer is text of server-sent events (decision 244).
   */
  | {
      readonly kind: 'readEvents';
      readonly after: EventCursor | undefined;
      readonly waitMs: number;
    }
  | {
      readonly kind: 'list';
      readonly limit: number;
      readonly offset: number;
      readonly sort: 'created_at' | 'name';
      readonly order: 'asc' | 'desc';
      /** Part of the name, in whatever case, or an id; undefined: all. Source: decision 254. */
      readonly search?: string | undefined;
      /** Where a walk goes on; undefined: at `offset`. Source: decision 281. */
      readonly cursor?: InstancesCursor | undefined;
    };

/** One call: the command and everything that travels with it. */
export type EngineCall = Traced & {
  /** The account on whose behalf; another account's instance is `not_found` (decision 19). */
  readonly accountId: string;
  /** The instance, or empty for `list` and `readSummaries`. */
  readonly instanceId: string;
  /**
   * Names this call for good: a second call with the same id advances nothing. An integer below
   * 2^52, chosen by the edge or derived from the caller's key. Source: architecture 3.5.
   */
  readonly callId: number;
  /** Wall-clock time of the edge's first attempt plus at most 10 s; dropped when past. */
  readonly deadlineAtMs: number;
  readonly idempotency: IdempotencyKey | undefined;
  /** Only a stored answer may be given; nothing may happen. Source: decision 22 (quota used up). */
  readonly isReplayOnly: boolean;
  /** The ETag that `If-Match` names, `*`, or undefined. Source: decision 21. */
  readonly ifMatch: string | undefined;
  /** The model that the account has chosen for its instances; undefined: none (decision 238). */
  readonly modelVersion?: string | undefined;
  readonly command: EngineCommand;
};

/**
 * A call that the cluster or its operator makes and no caller: without a name, a key or a condition,
 * because doing what it asks for twice is doing it once.
 */
export function unnamedCall(
  asked: Pick<EngineCall, 'accountId' | 'instanceId' | 'deadlineAtMs' | 'command'>,
): EngineCall {
  const unnamed = { callId: 0, idempotency: undefined, isReplayOnly: false, ifMatch: undefined };
  return { ...asked, ...unnamed };
}

/** What an engine answers when it does not refuse (a refusal is a thrown `Fault`). */
export type EngineAnswer = {
  /** The whole response body as JSON, rendered once by the engine: text, or UTF-8 bytes off the wire. */
  readonly body: string | Uint8Array;
  /** The strong ETag with its quotes, or empty where decision 21 names none. */
  readonly etag: string;
  /** Cycles that this call really advanced: what is billed. */
  readonly cycles: number;
  /** Seconds for `Retry-After` when the observation came too early (decision 1), else 0. */
  readonly throttledRetryAfterS: number;
  /** Whether this is the stored answer of an earlier call with the same key. */
  readonly isReplayed: boolean;
  /**
   * Set by routing on a replay that follows a try of unknown outcome: what is replayed may be what
   * that try did, so nothing says that this call has used no cycles.
   */
  readonly isPerhapsOwn?: true;
  /** Of `readEvents`: where the next one goes on. */
  readonly cursor?: EventCursor;
};

/** An answer that advanced no cycle, was not throttled and is no replay; `etag` with its quotes. */
export function plainAnswer(body: string | Uint8Array, etag = ''): EngineAnswer {
  return { body, etag, cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
}

/** The engine as the edge sees it. Throws the engine's faults; never answers past the deadline. */
export interface EngineClient {
  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer>;
}
