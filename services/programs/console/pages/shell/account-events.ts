import { signal } from '@preact/signals';
import type { AccountEvent } from '#clients/typescript/src/models';
import type { TransitionType } from '#identity/transitions';
import { send } from '#pages/shell/api';
import { LiveStream, type StreamStatus } from '#pages/shell/live-stream';

/** Minimum interval between two groups of events, in milliseconds. */
const GROUP_MS_MIN = 200;

/**
 * Number of event ids that are kept to find repeated events. The log repeats only events of the last
 * seconds, after a failure of an engine.
 */
const IDS_MAX = 4_096;

type AccountEventsOptions = {
  readonly types: readonly TransitionType[];
  /** Gets new events in order, in groups. An event that the log repeats is left out. */
  readonly onEvents: (events: readonly AccountEvent[]) => void;
  /** Called if events are missing, because the service no longer keeps them. */
  readonly onGap: () => void;
};

/** Events of the account after a cursor, as they happen. */
export class AccountEvents implements Disposable {
  readonly status = signal<StreamStatus>('connecting');
  readonly #options: AccountEventsOptions;
  readonly #known = new Set<string>();
  #stream: LiveStream<string> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: AccountEvent[] = [];

  constructor(options: AccountEventsOptions) {
    this.#options = options;
  }

  [Symbol.dispose](): void {
    this.#stream?.[Symbol.dispose]();
    clearTimeout(this.#timer);
  }

  /**
   * Follows the events after a cursor. Events of an earlier stream after this cursor are delivered
   * again.
   */
  follow(cursor: string): void {
    this.#stream?.[Symbol.dispose]();
    this.#known.clear();
    const types = this.#options.types.join(',');
    this.#stream = new LiveStream<string>({
      names: [...this.#options.types, 'gap'],
      addressAfter: (lastId) => `/api/events?types=${types}&cursor=${lastId || cursor}`,
      // No person started this request, so it does not extend the session.
      look: () => send('GET', '/events?limit=1', undefined, { 'x-unattended': 'true' }),
      onOpened: () => {},
      onEvent: (name, _, data) => {
        if (name === 'gap') this.#options.onGap();
        else this.#take(JSON.parse(data));
      },
      onMissing: () => {},
      onStatus: (status) => {
        this.status.value = status;
      },
    });
  }

  #take(event: AccountEvent): void {
    if (this.#known.has(event.id)) return;
    this.#known.add(event.id);
    for (const id of this.#known) {
      if (this.#known.size <= IDS_MAX) break;
      this.#known.delete(id);
    }
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => this.flush(), GROUP_MS_MIN);
  }

  /** Delivers the waiting events now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const events = this.#waiting;
    this.#waiting = [];
    if (events.length > 0) this.#options.onEvents(events);
  }
}
