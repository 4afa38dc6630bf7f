import { EVENT_NAMES, type EventName, eventOf, type InstanceEvent } from '#pages/instance/events';
import { instanceApi } from '#pages/instances/api';
import { idIn, Refused } from '#pages/shell/api';
import { refreshMe } from '#pages/shell/session';

/** First pause before a refused stream is reopened, in milliseconds. Doubles after each refusal. */
const AGAIN_MS_MIN = 1_000;
/** Maximum pause before a refused stream is reopened, in milliseconds. */
const AGAIN_MS_MAX = 15_000;

/**
 * Time until a hidden tab closes its connection, in milliseconds. Long enough that a short visit to
 * another tab causes no reconnect. Short enough that a waiting page gets a connection before its
 * timeout.
 */
const HIDDEN_MS_MAX = 5_000;

/** Stream status. `ended` is final. */
export type StreamStatus = 'connecting' | 'live' | 'reconnecting' | 'ended';

/** Callbacks for events and status changes. */
type Listeners = {
  readonly onEvent: (event: InstanceEvent) => void;
  readonly onStatus: (status: StreamStatus) => void;
};

/**
 * Event stream of an instance, until disposed. If the connection ends, the browser itself resumes
 * the stream. This class reopens a refused stream, after a check that the session is valid and the
 * instance exists.
 *
 * A browser has six connections to a console for all tabs. Therefore a hidden tab closes its
 * stream. When the tab is shown again, the stream resumes after the last event.
 */
export class InstanceStream implements Disposable {
  readonly #id: string;
  readonly #listeners: Listeners;
  /** Open event source. Undefined while the tab is hidden, and after the end of the stream. */
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  /** Last event id, sent as `after` when a new stream is opened. */
  #lastId = '';
  #refusals = 0;

  constructor(id: string, listeners: Listeners) {
    this.#id = id;
    this.#listeners = listeners;
    this.#open();
    document.addEventListener('visibilitychange', this.#look);
    this.#look();
  }

  [Symbol.dispose](): void {
    document.removeEventListener('visibilitychange', this.#look);
    clearTimeout(this.#hiding);
    this.#close();
  }

  readonly #look = (): void => {
    clearTimeout(this.#hiding);
    if (!document.hidden) {
      if (this.#source === undefined) this.#open();
      return;
    }
    this.#hiding = setTimeout(() => {
      this.#close();
      this.#listeners.onStatus('reconnecting');
    }, HIDDEN_MS_MAX);
  };

  #close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    const behind = this.#lastId === '' ? '' : `?after=${this.#lastId}`;
    const source = new EventSource(`/api/instances/${idIn(this.#id)}/events${behind}`);
    this.#source = source;
    source.onopen = () => {
      this.#refusals = 0;
      this.#listeners.onStatus('live');
      this.#listeners.onEvent({ kind: 'opened' });
    };
    source.onerror = () => {
      if (source !== this.#source) return;
      this.#listeners.onStatus('reconnecting');
      if (source.readyState === EventSource.CLOSED) void this.#comeBack(source);
    };
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (message: MessageEvent<string>) => this.#take(name, message));
    }
  }

  #take(name: EventName, { lastEventId, data }: MessageEvent<string>): void {
    // A stream opened with `after` has no event id before the first event.
    if (lastEventId !== '') this.#lastId = lastEventId;
    this.#listeners.onEvent(eventOf(name, this.#lastId, data));
    if (name === 'deleted') this.#end();
  }

  /**
   * Reopens a refused stream. `EventSource` hides the reason, so an ordinary request fetches the
   * reason.
   */
  async #comeBack(refused: EventSource): Promise<void> {
    let refusal = await this.#refusal();
    if (refusal === 'not_found' || refusal === 'forbidden') {
      // The browser may have switched to another account or role, which changes the page.
      await refreshMe();
      refusal = refused === this.#source ? await this.#refusal() : undefined;
    }
    // The stream was disposed, or the tab was hidden, during the request.
    if (refused !== this.#source) return;
    if (refusal === 'not_found') {
      this.#listeners.onEvent({ kind: 'deleted' });
      this.#end();
      return;
    }
    const pauseMs = Math.min(AGAIN_MS_MIN * 2 ** this.#refusals, AGAIN_MS_MAX);
    this.#refusals += 1;
    this.#timer = setTimeout(() => this.#open(), pauseMs);
  }

  /**
   * Reason why the instance cannot be read now, or undefined. An ended session leads to the sign-in
   * page.
   */
  async #refusal(): Promise<string | undefined> {
    try {
      await instanceApi.look(this.#id);
      return undefined;
    } catch (error) {
      if (error instanceof Refused) return error.code;
      throw error;
    }
  }

  #end(): void {
    this[Symbol.dispose]();
    this.#listeners.onStatus('ended');
  }
}
