import {
  FEED_AGE_MS,
  FEED_CHUNK_ROWS,
  type FeedCheckpoint,
  type FeedHead,
  type FeedHour,
  type FeedRow,
} from '#storage/ports/feeds';
import type { Endpoint, KeptEndpoint, Progress } from '#webhooks/endpoint';

/** Duration of an hour, in milliseconds. */
const HOUR_MS = 60 * 60 * 1_000;

/** Hours in the age of the oldest rows. */
const HOURS_KEPT = FEED_AGE_MS / HOUR_MS;

/** Memory of a feed without rows, in bytes. */
const FEED_BYTES = 2_048;

/** Memory of a row with one transition, in bytes. */
const ROW_BYTES = 220;

/** Memory of a further transition, in bytes. */
const TRANSITION_BYTES = 90;

/** Memory of a webhook endpoint, and of each of its held or failed rows, in bytes. */
const ENDPOINT_BYTES = 4_096;
const HELD_BYTES = 200;

/** Number of instances whose newest version a feed remembers, to drop repeated rows. */
const NEWEST_MAX = 65_536;

/** Change of an account's webhook endpoints. */
export type EndpointChange =
  /** Adds or replaces an endpoint. */
  | { readonly kind: 'put'; readonly endpoint: Endpoint; readonly progress: Progress }
  | { readonly kind: 'removed'; readonly id: string }
  | { readonly kind: 'progressed'; readonly id: string; readonly progress: Progress };

/** Rows of one record, its server time in Unix milliseconds, and a change of an endpoint. */
export type FeedRecord = {
  readonly atMs: number;
  readonly rows: readonly FeedRow[];
  readonly change?: EndpointChange;
};

/** Position from which a reader looks at a feed. */
export type LookFrom = number | 'oldest' | 'newest';

/** Rows that a reader may see, and the rows in memory among them. */
export type FeedView = {
  /** Position from which the reader looks. */
  readonly from: number;
  /** Position of the next row. */
  readonly next: number;
  /** Position of the first available row. */
  readonly floor: number;
  /** Position of the first row in memory. The rows before it are in stored chunks. */
  readonly start: number;
  /** Rows in memory from `from` on. Empty if `from` is before `start`. */
  readonly rows: readonly FeedRow[];
  /** Row before `from`, if that row is in memory. */
  readonly previous: FeedRow | undefined;
  readonly endpoints: readonly KeptEndpoint[];
};

/**
 * Feed of an account in memory: the rows after the last stored chunk. Positions count the rows, so a
 * row keeps its position for ever.
 */
export class Feed {
  readonly #rowsMax: number;
  #version: number;
  #next: number;
  #floor: number;
  #hours: FeedHour[];
  /** Rows from `#start` on. */
  #rows: FeedRow[];
  #start: number;
  #bytes = 0;
  #endpoints: readonly KeptEndpoint[];
  /** Newest recorded version by instance, for the instances that changed last. */
  readonly #newest = new Map<string, number>();

  /** `rowsMax`: maximum number of rows, before older rows are dropped. */
  constructor(head: FeedHead | undefined, rowsMax: number) {
    this.#rowsMax = rowsMax;
    const { version = 0, next = 0, floor = 0, hours = [], newest = [] } = head ?? {};
    this.#endpoints = head?.endpoints ?? [];
    this.#version = version;
    this.#next = next;
    this.#floor = floor;
    this.#hours = [...hours];
    this.#rows = [...newest];
    this.#start = next - newest.length;
    for (const row of newest) this.#bytes += bytesOf(row);
  }

  /** Whether nothing was ever recorded. */
  get isBlank(): boolean {
    return this.#version === 0;
  }

  /** Webhook endpoints, oldest first. Their list is replaced by each change. */
  get endpoints(): readonly KeptEndpoint[] {
    return this.#endpoints;
  }

  /** Memory of the feed, in bytes. */
  get bytes(): number {
    const endpoints = this.#endpoints.reduce((sum, { progress }) => {
      return sum + ENDPOINT_BYTES + HELD_BYTES * heldRows(progress);
    }, 0);
    return FEED_BYTES + this.#bytes + this.#newest.size * ROW_BYTES + endpoints;
  }

  /** Memory of the rows that are in no stored chunk, in bytes. */
  get rowBytes(): number {
    return this.#bytes;
  }

  /** Number of rows in memory. */
  get rowsHeld(): number {
    return this.#rows.length;
  }

  /**
   * The rows that are new. A row is repeated if its version, or a later version of its instance, is
   * recorded. Senders send the versions of an instance in order.
   */
  newIn(rows: readonly FeedRow[]): FeedRow[] {
    return rows.filter(([instanceId, version]) => version > (this.#newest.get(instanceId) ?? 0));
  }

  /** Takes a committed record. */
  take({ rows, atMs, change }: FeedRecord, version: number): void {
    if (rows.length > 0) this.#add(rows, atMs);
    if (change !== undefined) this.#endpoints = changed(this.#endpoints, change);
    this.#version = version;
  }

  #add(rows: readonly FeedRow[], atMs: number): void {
    const hour = Math.floor(atMs / HOUR_MS);
    if (hour > (this.#hours.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY)) {
      this.#hours.push([hour, this.#next]);
    }
    for (const row of rows) {
      this.#rows.push(row);
      this.#bytes += bytesOf(row);
      this.#remember(row);
    }
    this.#next += rows.length;
    this.#floor = Math.max(this.floorAt(atMs), this.#next - this.#rowsMax);
    while ((this.#hours[1]?.[1] ?? Number.POSITIVE_INFINITY) <= this.#floor) this.#hours.shift();
  }

  /** Position of the first available row at a time, in Unix milliseconds. */
  floorAt(nowMs: number): number {
    const oldest = Math.floor(nowMs / HOUR_MS) - HOURS_KEPT;
    const kept = this.#hours.find(([hour]) => hour >= oldest);
    return Math.max(this.#floor, kept === undefined ? this.#next : kept[1]);
  }

  /** Rows from a position on, at most `count` of them from memory. */
  view(wanted: LookFrom, count: number, nowMs: number): FeedView {
    const floor = this.floorAt(nowMs);
    const from = wanted === 'oldest' ? floor : wanted === 'newest' ? this.#next : wanted;
    const at = from - this.#start;
    return {
      from,
      next: this.#next,
      floor,
      start: this.#start,
      rows: at < 0 ? [] : this.#rows.slice(at, at + count),
      previous: this.#rows[at - 1],
      endpoints: this.#endpoints,
    };
  }

  /** Copy for the store: the head, and the chunks that are whole. */
  copy(accountId: string): FeedCheckpoint {
    const count = Math.floor(this.#rows.length / FEED_CHUNK_ROWS);
    const first = this.#start / FEED_CHUNK_ROWS;
    const rowsOf = (at: number) =>
      this.#rows.slice(at * FEED_CHUNK_ROWS, (at + 1) * FEED_CHUNK_ROWS);
    return {
      accountId,
      chunks: Array.from({ length: count }, (_, at) => ({ chunk: first + at, rows: rowsOf(at) })),
      head: {
        version: this.#version,
        next: this.#next,
        floor: this.#floor,
        hours: [...this.#hours],
        newest: this.#rows.slice(count * FEED_CHUNK_ROWS),
        endpoints: this.#endpoints,
      },
    };
  }

  /** Drops the rows of stored chunks from memory. */
  forget({ chunks }: FeedCheckpoint): void {
    const end = ((chunks.at(-1)?.chunk ?? -1) + 1) * FEED_CHUNK_ROWS;
    if (end <= this.#start) return;
    for (const row of this.#rows.splice(0, end - this.#start)) this.#bytes -= bytesOf(row);
    this.#start = end;
  }

  #remember([instanceId, version]: FeedRow): void {
    this.#newest.delete(instanceId);
    this.#newest.set(instanceId, version);
    if (this.#newest.size <= NEWEST_MAX) return;
    const [oldest] = this.#newest.keys();
    if (oldest !== undefined) this.#newest.delete(oldest);
  }
}

/** Number of held and failed rows of an endpoint. */
export function heldRows({ held, failed }: Progress): number {
  return held.reduce((sum, { rows }) => sum + rows.length, failed.length);
}

/** Endpoints after a change. A change of an unknown endpoint has no effect, except `put`. */
function changed(endpoints: readonly KeptEndpoint[], change: EndpointChange): KeptEndpoint[] {
  const id = change.kind === 'put' ? change.endpoint.id : change.id;
  const at = endpoints.findIndex(({ endpoint }) => endpoint.id === id);
  if (change.kind === 'removed') return endpoints.filter((_, index) => index !== at);
  const before = endpoints[at];
  if (change.kind === 'progressed') {
    const { progress } = change;
    return before === undefined ? [...endpoints] : endpoints.with(at, { ...before, progress });
  }
  const { endpoint, progress } = change;
  const kept = { endpoint, progress };
  return before === undefined ? [...endpoints, kept] : endpoints.with(at, kept);
}

/** Memory of a row, in bytes. */
function bytesOf([, , , transitions]: FeedRow): number {
  return ROW_BYTES + (transitions.length - 1) * TRANSITION_BYTES;
}
