import { signal } from '@preact/signals';
import type { AccountEvent } from '#clients/typescript/src/models';
import { fleetApi } from '#pages/fleet/api';
import { counted, FOLLOWED_TYPES, type LiveCounts, liveCounts } from '#pages/fleet/live-counts';
import { Refused } from '#pages/shell/api';
import { LiveStream, type StreamStatus } from '#pages/shell/live-stream';

/** Minimum interval between two renders, in milliseconds. */
const DRAW_MS_MIN = 200;

/**
 * Minimum interval between two requests for counts, in milliseconds. The requests count for the
 * account.
 */
const RECOUNT_MS_MIN = 20_000;

/** Time until the counts contain an event, in milliseconds. */
const SETTLED_MS = 2_000;

/**
 * Minimum interval between two requests for names, in milliseconds. The requests count for the
 * account.
 */
const RENAME_MS_MIN = 20_000;

/** Query of the instances with the newest changes. */
const NEWEST_CHANGES = new URLSearchParams({ sort: 'changed_at', limit: '20' });

/** Pause before another request while the service builds its index, in milliseconds. */
const REBUILDING_MS = 2_000;

/** State of the live fleet. */
export type FleetState =
  | { readonly kind: 'loading' }
  /** The service builds its index. Counts and filters follow within seconds. */
  | { readonly kind: 'rebuilding' }
  | { readonly kind: 'failed'; readonly refusal: Refused }
  | { readonly kind: 'ready'; readonly live: LiveCounts };

/**
 * Counts and newest events of the account, kept up to date by the stream of events. An event that
 * does not say how the counts change causes a new request, at most every 20 s.
 */
export class LiveFleet implements Disposable {
  readonly state = signal<FleetState>({ kind: 'loading' });
  readonly status = signal<StreamStatus>('connecting');
  /** Names of the instances with the newest changes, by id. */
  readonly names = signal<ReadonlyMap<string, string>>(new Map());
  readonly #onEvents: (events: readonly AccountEvent[]) => void;
  #stream: LiveStream<string> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #drawing: ReturnType<typeof setTimeout> | undefined;
  #naming: ReturnType<typeof setTimeout> | undefined;
  #waiting: AccountEvent[] = [];
  /** Time of the last repeated count. The first repetition need not wait. */
  #countedAtMs = Number.NEGATIVE_INFINITY;
  #isDisposed = false;

  /** `onEvents` gets all events in order, in groups. */
  constructor(onEvents: (events: readonly AccountEvent[]) => void) {
    this.#onEvents = onEvents;
    void this.count();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#stream?.[Symbol.dispose]();
    clearTimeout(this.#timer);
    clearTimeout(this.#drawing);
    clearTimeout(this.#naming);
  }

  /** Requests the counts, and follows the events after them. */
  readonly count = async (): Promise<void> => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (document.hidden && this.state.value.kind === 'ready') {
      this.#again(RECOUNT_MS_MIN);
      return;
    }
    try {
      const counts = await fleetApi.counts();
      if (this.#isDisposed) return;
      if (this.state.value.kind === 'ready') this.#countedAtMs = performance.now();
      this.state.value = { kind: 'ready', live: liveCounts(counts) };
      this.#waiting = [];
      this.#nameSoon(0);
      this.#follow(counts.as_of.events_cursor);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.#isDisposed) this.#refused(error);
    }
  };

  /** Keeps the counts of an earlier answer. */
  #refused(refusal: Refused): void {
    const isFirst = this.state.value.kind !== 'ready';
    const isRebuilding = refusal.reason === 'index_rebuilding';
    if (isFirst)
      this.state.value = isRebuilding ? { kind: 'rebuilding' } : { kind: 'failed', refusal };
    if (isRebuilding) this.#again(REBUILDING_MS);
  }

  /** Requests the names of changed instances, if an event on the page lacks a name. */
  #nameSoon(pauseMs: number): void {
    this.#naming ??= setTimeout(() => void this.#name(), pauseMs);
  }

  async #name(): Promise<void> {
    this.#naming = undefined;
    const { value: state } = this.state;
    if (state.kind !== 'ready') return;
    const lacks = state.live.events.some(
      ({ type, instance_id: id }) => type !== 'deleted' && !this.names.value.has(id),
    );
    if (!lacks || document.hidden) return;
    try {
      const { data } = await fleetApi.list(NEWEST_CHANGES);
      this.names.value = new Map(data.map(({ id, name }) => [id, name]));
    } catch (error) {
      // Without names, the page shows ids.
      if (!(error instanceof Refused)) throw error;
    }
  }

  #again(pauseMs: number): void {
    this.#timer ??= setTimeout(() => void this.count(), pauseMs);
  }

  #follow(cursor: string): void {
    this.#stream?.[Symbol.dispose]();
    const types = FOLLOWED_TYPES.join(',');
    this.#stream = new LiveStream<string>({
      names: [...FOLLOWED_TYPES, 'gap'],
      addressAfter: (lastId) => `/api/events?types=${types}&cursor=${lastId || cursor}`,
      look: fleetApi.look,
      onOpened: () => {},
      onEvent: (name, _, data) => {
        if (name === 'gap') this.#again(0);
        else this.#take(JSON.parse(data));
      },
      onMissing: () => {},
      onStatus: (status) => {
        this.status.value = status;
      },
    });
  }

  #take(event: AccountEvent): void {
    this.#waiting.push(event);
    this.#drawing ??= setTimeout(() => this.#draw(), DRAW_MS_MIN);
  }

  #draw(): void {
    this.#drawing = undefined;
    const events = this.#waiting;
    this.#waiting = [];
    const { value: state } = this.state;
    if (state.kind !== 'ready' || events.length === 0) return;
    const live = events.reduce(counted, state.live);
    this.state.value = { kind: 'ready', live };
    this.#onEvents(events);
    this.#nameSoon(RENAME_MS_MIN);
    if (!live.isDue) return;
    const sinceMs = performance.now() - this.#countedAtMs;
    this.#again(Math.max(SETTLED_MS, RECOUNT_MS_MIN - sinceMs));
  }
}
