import { EVENT_NAMES, type EventName, eventOf, type InstanceEvent } from '#pages/instance/events';
import { instanceApi } from '#pages/instances/api';
import { idIn, Refused } from '#pages/shell/api';
import { refreshMe } from '#pages/shell/session';

/** First and longest pause before a stream that was refused is opened again, in milliseconds. Chosen. */
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 15_000;

/**
 * How long a tab is hidden before it gives its connection up, in milliseconds. Chosen: a look at another
 * tab costs no request, and a page that waits for a connection gets one long before it gives up.
 */
const HIDDEN_MS_MAX = 5_000;

/** How a stream is; `ended` it does not come back. */
export type StreamStatus = 'connecting' | 'live' | 'reconnecting' | 'ended';

/** Who hears what a stream says, and how it is. */
type Listeners = {
  readonly onEvent: (event: InstanceEvent) => void;
  readonly onStatus: (status: StreamStatus) => void;
};

/**
 * The events of an instance for as long as it is open. The browser itself comes back behind the last event
 * when a stream ends; one that is refused it gives up, so that is opened again here, once it is clear
 * that someone is signed in and the instance is not gone.
 *
 * A browser has six connections to a console for all of its tabs: a tab that is hidden has no stream, and
 * goes on behind the last event once it is shown.
 */
export class InstanceStream implements Disposable {
  readonly #id: string;
  readonly #listeners: Listeners;
  /** None while the tab is hidden, and none at the end. */
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  /** The id of the last event, for a stream that does not send it by itself. */
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
    // A stream that began with `after` has no id until something has happened.
    if (lastEventId !== '') this.#lastId = lastEventId;
    this.#listeners.onEvent(eventOf(name, this.#lastId, data));
    if (name === 'deleted') this.#end();
  }

  /** A refused stream says nothing of the reason: it may be the session, the instance, or the service. */
  async #comeBack(refused: EventSource): Promise<void> {
    let refusal = await this.#refusal();
    if (refusal === 'not_found' || refusal === 'forbidden') {
      // Another account that this browser looks at meanwhile, or another role, is another page.
      await refreshMe();
      refusal = refused === this.#source ? await this.#refusal() : undefined;
    }
    // It was left, or hidden, meanwhile.
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

  /** Why the instance cannot be read now; undefined: it can. A session that has ended leads to the sign-in. */
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
