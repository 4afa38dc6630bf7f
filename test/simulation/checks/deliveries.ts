import { LEASE_MS } from '#actor-runtime/actor-bounds';
import type { OutgoingMessage } from '#grpc/courier-messages';
import type { ShardRow } from '#storage/ports/cluster';
import { Violation } from '#test/simulation/stored/version-index';

/** Places per version. A row of the feed has fewer events. */
const PLACES_PER_VERSION = 1_000;

/** An event in a message. `place`: position among the events of its instance. */
type SentEvent = {
  readonly id: string;
  readonly instance: string;
  readonly place: number;
  readonly json: string;
};

/** An attempt to deliver a message. */
export type DeliveryAttempt = {
  readonly endpointId: string;
  readonly messageId: string;
  readonly events: readonly SentEvent[];
  /** Whether the message says that earlier events are missing. */
  readonly followsGap: boolean;
  /** Incarnation and epoch in which the sender owned the feed. */
  readonly tenure: string;
};

type DeliveryWatchPorts = {
  readonly nowMs: () => number;
  readonly shardOf: (accountId: string) => number;
  readonly fail: (violation: Violation) => void;
};

/**
 * Checks every attempt of webhook delivery when it happens. Only the owner of a feed begins
 * attempts, one at a time for each instance (I6). A paused endpoint gets no message. A repetition
 * has the same content. Collects deliveries for checks at the end. Source: docs/cluster.md.
 */
export class DeliveryWatch {
  readonly #ports: DeliveryWatchPorts;
  readonly #owners = new ShardTenures();
  readonly #endpoints = new Map<string, WatchedEndpoint>();

  constructor(ports: DeliveryWatchPorts) {
    this.#ports = ports;
  }

  /** Call before an endpoint is created. */
  add(endpointId: string, accountId: string): void {
    this.#endpoints.set(endpointId, new WatchedEndpoint(accountId));
  }

  /** Call when a pause was answered, and before a resumption. */
  setPaused(endpointId: string, isPaused: boolean): void {
    this.#endpoint(endpointId).isPaused = isPaused;
  }

  /** Call when a shard has changed its owner. */
  changed(row: ShardRow): void {
    this.#owners.changed(row);
  }

  /** Call when the journal of an incarnation has ended. */
  sealed(incarnation: string): void {
    this.#owners.sealed(incarnation, this.#ports.nowMs());
  }

  /** Call when a process begins an attempt. */
  begin(incarnation: string | undefined, message: OutgoingMessage): DeliveryAttempt {
    const { nowMs, shardOf } = this.#ports;
    const { endpointId, id: messageId } = message;
    const endpoint = this.#endpoint(endpointId);
    const shard = shardOf(endpoint.accountId);
    const epoch = this.#owners.epochOf(shard, incarnation, nowMs());
    if (epoch === undefined) {
      this.#fail(`message ${messageId} was sent by ${incarnation}, which has lost the feed`);
    }
    if (endpoint.isPaused) this.#fail(`message ${messageId} was sent to a paused endpoint`);
    const { events, followsGap } = contentOf(message.body);
    const tenure = `${incarnation} ${epoch}`;
    const attempt = { endpointId, messageId, events, followsGap, tenure };
    for (const instance of instancesOf(attempt)) {
      const other = endpoint.underWay.get(`${tenure} ${instance}`);
      endpoint.underWay.set(`${tenure} ${instance}`, messageId);
      if (other === undefined) continue;
      this.#fail(`message ${messageId} began while ${other} about ${instance} was under way`);
    }
    return attempt;
  }

  /** Call when an endpoint takes a message. */
  take(attempt: DeliveryAttempt): void {
    const problem = this.#endpoint(attempt.endpointId).take(attempt);
    if (problem !== undefined) this.#fail(`message ${attempt.messageId}: ${problem}`);
  }

  /** Call when the sender gets the outcome of an attempt. */
  end(attempt: DeliveryAttempt): void {
    const { underWay } = this.#endpoint(attempt.endpointId);
    for (const id of instancesOf(attempt)) underWay.delete(`${attempt.tenure} ${id}`);
  }

  /** Delivered events of an endpoint, as JSON by event id. */
  deliveredTo(endpointId: string): ReadonlyMap<string, string> {
    return this.#endpoint(endpointId).delivered;
  }

  /** Ids of the messages that delivered an event. */
  messagesWith(endpointId: string, eventId: string): ReadonlySet<string> {
    return this.#endpoint(endpointId).messagesOf.get(eventId) ?? new Set();
  }

  /**
   * Events that were first delivered after a later event of their instance, although no message
   * reported them as missing. Keys: ids of these events. Values: ids of the later events. The order
   * is no fault if the log has the event twice, because a take-over may repeat a row.
   */
  lateIn(endpointId: string): ReadonlyMap<string, string> {
    return this.#endpoint(endpointId).late;
  }

  /** Number of events that endpoints have taken, without repetitions. */
  get deliveredCount(): number {
    return [...this.#endpoints.values()].reduce((sum, { delivered }) => sum + delivered.size, 0);
  }

  #endpoint(id: string): WatchedEndpoint {
    const known = this.#endpoints.get(id);
    if (known === undefined) throw new Violation(`no caller has created the endpoint ${id}`);
    return known;
  }

  #fail(problem: string): void {
    this.#ports.fail(new Violation(problem));
  }
}

/** One endpoint, and what it has taken. */
class WatchedEndpoint {
  readonly accountId: string;
  isPaused = false;
  /** Message ids of attempts that their sender waits for, by tenure and instance. */
  readonly underWay = new Map<string, string>();
  readonly delivered = new Map<string, string>();
  readonly messagesOf = new Map<string, Set<string>>();
  readonly late = new Map<string, string>();
  /** Event ids by message id. */
  readonly #messages = new Map<string, string>();
  /** Newest event by instance. */
  readonly #newest = new Map<string, SentEvent>();
  /**
   * Ends of gaps, by instance: a message has reported that events before this place are missing.
   * The missing events may still arrive, because an endpoint may take a message late.
   */
  readonly #gapEnds = new Map<string, number>();

  constructor(accountId: string) {
    this.accountId = accountId;
  }

  /** Takes a message. Returns the broken rule, if any. */
  take(attempt: DeliveryAttempt): string | undefined {
    const { events, messageId, followsGap } = attempt;
    const ids = events.map(({ id }) => id).join();
    const before = this.#messages.get(messageId) ?? ids;
    this.#messages.set(messageId, ids);
    if (before !== ids) return `has the events ${ids}, but had ${before} before`;
    if (followsGap) this.#noteGaps(events);
    return events.map((event) => this.#takeEvent(event, messageId)).find(Boolean);
  }

  /** Notes that events before those of a message may be missing. */
  #noteGaps(events: readonly SentEvent[]): void {
    for (const [instance, own] of Map.groupBy(events, (event) => event.instance)) {
      const first = Math.min(...own.map(({ place }) => place));
      this.#gapEnds.set(instance, Math.max(first, this.#gapEnds.get(instance) ?? 0));
    }
  }

  #takeEvent(event: SentEvent, messageId: string): string | undefined {
    const { id, json } = event;
    const messages = this.messagesOf.get(id) ?? new Set();
    this.messagesOf.set(id, messages.add(messageId));
    const before = this.delivered.get(id);
    this.delivered.set(id, json);
    if (before !== undefined) {
      return before === json ? undefined : `repeats ${id} as ${json} instead of ${before}`;
    }
    this.#order(event);
    return undefined;
  }

  /** Compares a first delivery with the newest event of its instance. */
  #order(event: SentEvent): void {
    const { id, instance, place } = event;
    const newest = this.#newest.get(instance);
    if (newest === undefined || newest.place < place) this.#newest.set(instance, event);
    else if (place >= (this.#gapEnds.get(instance) ?? 0)) this.late.set(id, newest.id);
  }
}

/** Owners of the shards, and the times at which they lose their read leases. */
class ShardTenures {
  /** Owner by shard and epoch, as text. */
  readonly #owners = new Map<string, string>();
  /** Newest epoch of each shard. */
  readonly #epochs = new Map<number, number>();
  readonly #sealedMs = new Map<string, number>();

  changed({ shard, epoch, owner }: ShardRow): void {
    this.#owners.set(`${shard} ${epoch}`, owner);
    this.#epochs.set(shard, epoch);
  }

  sealed(incarnation: string, nowMs: number): void {
    this.#sealedMs.set(incarnation, nowMs);
  }

  /**
   * Epoch in which an incarnation owns a shard. Undefined: the incarnation is no owner. For
   * `LEASE_MS` after a seal, the former owner keeps its read lease, and the next owner waits.
   */
  epochOf(shard: number, incarnation: string | undefined, nowMs: number): number | undefined {
    const sealedMs = this.#sealedMs.get(incarnation ?? '');
    if (sealedMs !== undefined && nowMs - sealedMs >= LEASE_MS) return undefined;
    const epoch = this.#epochs.get(shard) ?? 0;
    if (this.#owners.get(`${shard} ${epoch}`) === incarnation) return epoch;
    const isFormer = this.#owners.get(`${shard} ${epoch - 1}`) === incarnation;
    return isFormer && sealedMs !== undefined ? epoch - 1 : undefined;
  }
}

function contentOf(body: string): { events: SentEvent[]; followsGap: boolean } {
  const { data, follows_gap } = JSON.parse(body) as {
    readonly data: readonly Record<string, unknown>[];
    readonly follows_gap?: boolean;
  };
  return { events: data.map(sentEvent), followsGap: follows_gap === true };
}

function sentEvent(event: Readonly<Record<string, unknown>>): SentEvent {
  const id = String(event['id']);
  const [version = 0, index = 0] = id.split('-').slice(1).map(Number);
  return {
    id,
    instance: String(event['instance_id']),
    place: version * PLACES_PER_VERSION + index + 1,
    json: JSON.stringify(event),
  };
}

function instancesOf({ events }: DeliveryAttempt): ReadonlySet<string> {
  return new Set(events.map(({ instance }) => instance));
}
