import { Refused } from '#pages/shell/api';
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

/** Address and callbacks of a stream. */
type LiveStreamOptions<Name extends string> = {
  /** Address that continues after an event; `lastId` is empty for a new stream. */
  readonly addressAfter: (lastId: string) => string;
  /** Names of the events. Other events are ignored. */
  readonly names: readonly Name[];
  /**
   * An ordinary request for the same data. Throws `Refused`: `EventSource` hides why a stream was
   * refused.
   */
  readonly look: () => Promise<unknown>;
  readonly onOpened: () => void;
  /** Called with the newest event id, and the data of the event. */
  readonly onEvent: (name: Name, lastId: string, data: string) => void;
  readonly onStatus: (status: StreamStatus) => void;
  /** Called if the data no longer exists. The stream then ends. */
  readonly onMissing: () => void;
};

/**
 * Event stream of the console's API, until disposed. If the connection ends, the browser itself
 * resumes the stream. This class reopens a refused stream, after a check that the session is valid
 * and the data exists.
 *
 * A browser has six connections to a console for all tabs. Therefore a hidden tab closes its
 * stream. When the tab is shown again, the stream resumes after the last event.
 */
export class LiveStream<Name extends string> implements Disposable {
  readonly #options: LiveStreamOptions<Name>;
  /** Open event source. Undefined while the tab is hidden, and after the end of the stream. */
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  /** Last event id. A new stream continues after this event. */
  #lastId = '';
  #refusals = 0;

  constructor(options: LiveStreamOptions<Name>) {
    this.#options = options;
    this.#open();
    document.addEventListener('visibilitychange', this.#look);
    this.#look();
  }

  [Symbol.dispose](): void {
    document.removeEventListener('visibilitychange', this.#look);
    clearTimeout(this.#hiding);
    this.#close();
  }

  /** Ends the stream, because no event will follow. */
  end(): void {
    this[Symbol.dispose]();
    this.#options.onStatus('ended');
  }

  readonly #look = (): void => {
    clearTimeout(this.#hiding);
    if (!document.hidden) {
      if (this.#source === undefined) this.#open();
      return;
    }
    this.#hiding = setTimeout(() => {
      this.#close();
      this.#options.onStatus('reconnecting');
    }, HIDDEN_MS_MAX);
  };

  #close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    const { addressAfter, names, onOpened, onStatus } = this.#options;
    const source = new EventSource(addressAfter(this.#lastId));
    this.#source = source;
    source.onopen = () => {
      this.#refusals = 0;
      onStatus('live');
      onOpened();
    };
    source.onerror = () => {
      if (source !== this.#source) return;
      onStatus('reconnecting');
      if (source.readyState === EventSource.CLOSED) void this.#comeBack(source);
    };
    for (const name of names) {
      source.addEventListener(name, (message: MessageEvent<string>) => this.#take(name, message));
    }
  }

  #take(name: Name, { lastEventId, data }: MessageEvent<string>): void {
    // A reopened stream has no event id before its first event.
    if (lastEventId !== '') this.#lastId = lastEventId;
    this.#options.onEvent(name, this.#lastId, data);
  }

  /** Reopens a refused stream, after an ordinary request has shown the reason. */
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
      this.#options.onMissing();
      this.end();
      return;
    }
    const pauseMs = Math.min(AGAIN_MS_MIN * 2 ** this.#refusals, AGAIN_MS_MAX);
    this.#refusals += 1;
    this.#timer = setTimeout(() => this.#open(), pauseMs);
  }

  /** Code of the present refusal. An ended session leads to the sign-in page. */
  async #refusal(): Promise<string | undefined> {
    try {
      await this.#options.look();
      return undefined;
    } catch (error) {
      if (error instanceof Refused) return error.code;
      throw error;
    }
  }
}
