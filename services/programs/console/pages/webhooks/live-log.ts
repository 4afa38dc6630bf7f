import { type ReadonlySignal, signal } from '@preact/signals';
import type { AccountEvent } from '#clients/typescript/src/models';
import type { TransitionType } from '#identity/transitions';
import { AccountEvents } from '#pages/shell/account-events';
import { Refused } from '#pages/shell/api';
import type { StreamStatus } from '#pages/shell/live-stream';
import { webhookApi } from '#pages/webhooks/api';

/** Events of one request: about two screens. */
const PAGE_EVENTS = 50;

/** Maximum number of events on the page, a few MiB. Beyond, the oldest are dropped. */
const EVENTS_MAX = 2_000;

/** Events on the page. */
export type LogView = {
  /** Newest first. */
  readonly events: readonly AccountEvent[];
  /** Cursor of older events. Undefined: there are no older events, or the page dropped events. */
  readonly older: string | undefined;
  /** New events that the page holds back while the log is paused, newest first. */
  readonly held: readonly AccountEvent[];
  /** Whether events between the older and the newer events are missing. */
  readonly isMissing: boolean;
};

/** State of the log. */
type LogState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly refusal: Refused }
  | { readonly kind: 'ready'; readonly view: LogView };

/** The log of the account for some types: newest events first, kept up to date by the stream. */
export class LiveLog implements Disposable {
  readonly state = signal<LogState>({ kind: 'loading' });
  readonly isPaused = signal(false);
  readonly #types: readonly TransitionType[];
  readonly #followed: AccountEvents;
  #isDisposed = false;

  constructor(types: readonly TransitionType[]) {
    this.#types = types;
    this.#followed = new AccountEvents({
      types,
      onEvents: (events) => this.#take(events),
      onGap: () => this.#change((view) => ({ ...view, isMissing: true })),
    });
    void this.load();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#followed[Symbol.dispose]();
  }

  get status(): ReadonlySignal<StreamStatus> {
    return this.#followed.status;
  }

  /** Loads the newest events, and follows the events after them. */
  readonly load = async (): Promise<void> => {
    try {
      const { data, pagination } = await webhookApi.events(this.#query());
      if (this.#isDisposed) return;
      this.isPaused.value = false;
      const older = pagination.has_more ? pagination.next_cursor : undefined;
      const view = { events: data, older, held: [], isMissing: false };
      this.state.value = { kind: 'ready', view };
      this.#followed.follow(pagination.newer_cursor ?? '');
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.#isDisposed) this.state.value = { kind: 'failed', refusal: error };
    }
  };

  /** Loads older events. Rejects with `Refused`. */
  readonly loadOlder = async (): Promise<void> => {
    const before = this.#view?.older;
    if (before === undefined) return;
    const { data, pagination } = await webhookApi.events(this.#query(before));
    const older = pagination.has_more ? pagination.next_cursor : undefined;
    this.#change((view) => ({ ...view, events: [...view.events, ...newIn(data, view)], older }));
  };

  /** Holds new events back, or shows the held events. */
  readonly pause = (isPaused: boolean): void => {
    this.isPaused.value = isPaused;
    if (!isPaused) this.#change((view) => withNew({ ...view, held: [] }, view.held));
  };

  get #view(): LogView | undefined {
    const { value } = this.state;
    return value.kind === 'ready' ? value.view : undefined;
  }

  #change(by: (view: LogView) => LogView): void {
    const view = this.#view;
    if (view !== undefined) this.state.value = { kind: 'ready', view: by(view) };
  }

  #query(cursor?: string): URLSearchParams {
    const query = new URLSearchParams({ order: 'desc', limit: String(PAGE_EVENTS) });
    query.set('types', this.#types.join(','));
    if (cursor !== undefined) query.set('cursor', cursor);
    return query;
  }

  #take(events: readonly AccountEvent[]): void {
    const arrived = events.toReversed();
    this.#change((view) =>
      this.isPaused.value
        ? { ...view, held: [...newIn(arrived, view), ...view.held].slice(0, EVENTS_MAX) }
        : withNew(view, arrived),
    );
  }
}

/** The view with new events at its beginning. */
function withNew(view: LogView, arrived: readonly AccountEvent[]): LogView {
  const events = [...newIn(arrived, view), ...view.events];
  // After a cut, the cursor of the older events would leave out the dropped events.
  if (events.length <= EVENTS_MAX) return { ...view, events };
  return { ...view, events: events.slice(0, EVENTS_MAX), older: undefined };
}

/** Events that the page does not have yet. The log may repeat an event. */
function newIn(events: readonly AccountEvent[], { events: shown, held }: LogView) {
  const known = new Set([...shown, ...held].map(({ id }) => id));
  return events.filter(({ id }) => !known.has(id));
}
