import { type ReadonlySignal, signal } from '@preact/signals';
import type { AccountEvent } from '#clients/typescript/src/models';
import { fleetApi, isOfRebuilding, REBUILDING_MS } from '#pages/fleet/api';
import { counted, FOLLOWED_TYPES, type LiveCounts, liveCounts } from '#pages/fleet/live-counts';
import { AccountEvents } from '#pages/shell/account-events';
import { Refused } from '#pages/shell/api';
import type { StreamStatus } from '#pages/shell/live-stream';

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
  /** Names of the instances with the newest changes, by id. */
  readonly names = signal<ReadonlyMap<string, string>>(new Map());
  readonly #onEvents: (events: readonly AccountEvent[]) => void;
  readonly #followed = new AccountEvents({
    types: FOLLOWED_TYPES,
    onEvents: (events) => this.#take(events),
    onGap: () => this.#again(0),
  });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #naming: ReturnType<typeof setTimeout> | undefined;
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
    this.#followed[Symbol.dispose]();
    clearTimeout(this.#timer);
    clearTimeout(this.#naming);
  }

  get status(): ReadonlySignal<StreamStatus> {
    return this.#followed.status;
  }

  /** Requests the counts, and follows the events after them. */
  readonly count = async (): Promise<void> => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (document.hidden && this.state.value.kind === 'ready') {
      this.#again(RECOUNT_MS_MIN);
      return;
    }
    if (this.state.value.kind === 'ready') this.#countedAtMs = performance.now();
    try {
      const counts = await fleetApi.counts();
      if (this.#isDisposed) return;
      // The rows of the table need these events, and the new counts contain them.
      this.#followed.flush();
      this.state.value = { kind: 'ready', live: liveCounts(counts) };
      this.#nameSoon(0);
      this.#followed.follow(counts.as_of.events_cursor);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.#isDisposed) this.#refused(error);
    }
  };

  /** Keeps the counts of an earlier answer, and counts again later. */
  #refused(refusal: Refused): void {
    const isFirst = this.state.value.kind !== 'ready';
    const isRebuilding = isOfRebuilding(refusal);
    if (isFirst) {
      this.state.value = isRebuilding ? { kind: 'rebuilding' } : { kind: 'failed', refusal };
    }
    if (isRebuilding) this.#again(REBUILDING_MS);
    else if (!isFirst) {
      this.#again(Math.max(RECOUNT_MS_MIN, 1_000 * (refusal.retryAfterSeconds ?? 0)));
    }
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

  #take(events: readonly AccountEvent[]): void {
    const { value: state } = this.state;
    if (state.kind !== 'ready') return;
    const live = events.reduce(counted, state.live);
    this.state.value = { kind: 'ready', live };
    this.#onEvents(events);
    this.#nameSoon(RENAME_MS_MIN);
    if (!live.isDue) return;
    const sinceMs = performance.now() - this.#countedAtMs;
    this.#again(Math.max(SETTLED_MS, RECOUNT_MS_MIN - sinceMs));
  }
}
