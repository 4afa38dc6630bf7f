import {
  ConnectionError,
  ForbiddenError,
  type InstanceHandle,
  NotFoundError,
  UnauthorizedError,
} from 'identity-engine';
import { report, TooManySubscriptionsError, UnknownInstanceError } from './failures.ts';
import type { Session } from './session.ts';

/**
 * Maximum time to open a stream, in milliseconds. Longer than a call, because the client repeats a
 * refused stream for the time of a call, and the reason of the refusal must arrive.
 */
const OPEN_MS_MAX = 15_000;

/** Pause before a broken stream opens again, in milliseconds. */
const REOPEN_MS = 30_000;

/** Errors after which a stream does not open again. */
const FINAL = [UnauthorizedError, ForbiddenError, NotFoundError];

/** Maximum number of subscriptions: per connection on stdio, per server on HTTP. */
export const SUBSCRIPTIONS_MAX = 100;

/** URIs of a request `subscriptions/listen`; empty for all other messages. */
export function listenedUris(message: unknown): string[] {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown };
  if (method !== 'subscriptions/listen') return [];
  const { notifications } = (params ?? {}) as {
    notifications?: { resourceSubscriptions?: unknown };
  };
  const uris = notifications?.resourceSubscriptions;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

/** Subscriptions of one connection, by the id of a request or by URI. */
export class Subscriptions {
  readonly #session: Session;
  readonly #watches: ContractWatches;
  readonly #onChange: (uri: string) => void;
  readonly #leaves = new Map<unknown, (() => void)[]>();

  /** `onChange`: called for each change of a subscribed contract. */
  constructor(session: Session, watches: ContractWatches, onChange: (uri: string) => void) {
    this.#session = session;
    this.#watches = watches;
    this.#onChange = onChange;
  }

  /**
   * Opens a subscription, then replaces an earlier subscription of this name. Resolves to false if
   * the subscription was removed meanwhile. Throws the errors of `ContractWatches`, and a
   * `TooManySubscriptionsError`.
   */
  async add(name: unknown, uris: readonly string[]): Promise<boolean> {
    const earlier = this.#leaves.get(name);
    if (earlier === undefined && this.#leaves.size >= SUBSCRIPTIONS_MAX) {
      throw new TooManySubscriptionsError();
    }
    const leaves: (() => void)[] = [];
    this.#leaves.set(name, leaves);
    const isCurrent = () => this.#leaves.get(name) === leaves;
    try {
      const opening = [...new Set(uris)].map(async (uri) => {
        const onChange = () => this.#onChange(uri);
        leaves.push(await this.#watches.subscribe(this.#session, uri, onChange));
      });
      const failed = (await Promise.allSettled(opening)).find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    } catch (error) {
      if (isCurrent()) this.#leaves.delete(name);
      throw error;
    } finally {
      if (!isCurrent()) leaveAll(leaves);
      leaveAll(earlier);
    }
    return isCurrent();
  }

  /** Ends a subscription, if there is one. */
  remove(name: unknown): void {
    leaveAll(this.#leaves.get(name));
    this.#leaves.delete(name);
  }

  /** Ends all subscriptions. */
  close(): void {
    for (const name of [...this.#leaves.keys()]) this.remove(name);
  }
}

function leaveAll(leaves: (() => void)[] = []): void {
  for (const leave of leaves.splice(0)) leave();
}

/**
 * Watches contracts through event streams of the service. Subscribers of one instance with the same
 * key share a stream. The stream closes with the last subscriber.
 */
export class ContractWatches {
  readonly #watches = new Map<string, Watch>();

  /**
   * Subscribes to the contract with this URI. Resolves to a function that unsubscribes. From then
   * on, `onChange` is called once for each change, and at last when the instance is deleted or the
   * service refuses the key. Throws an `UnknownInstanceError`, or the error of the stream.
   */
  async subscribe(session: Session, uri: string, onChange: () => void): Promise<() => void> {
    const instance = session.instanceOf(uri);
    const name = `${session.apiKey} ${instance.id}`;
    let watch = this.#watches.get(name);
    if (watch === undefined) {
      watch = new Watch(instance, () => this.#watches.delete(name));
      this.#watches.set(name, watch);
    }
    return await watch.join(onChange);
  }
}

/** Follows one instance for all of its subscribers. */
class Watch {
  readonly #instance: InstanceHandle;
  readonly #onEnd: () => void;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #opened: Promise<void>;
  #open: () => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;
  #timer: NodeJS.Timeout;
  /** Newest contract as text; undefined until the stream is open. */
  #contract: string | undefined;

  constructor(instance: InstanceHandle, onEnd: () => void) {
    this.#instance = instance;
    this.#onEnd = onEnd;
    this.#opened = new Promise((resolve, reject) => {
      this.#open = resolve;
      this.#fail = reject;
    });
    const late = new ConnectionError('no event stream', false);
    this.#timer = setTimeout(() => this.#end(late), OPEN_MS_MAX);
    void this.#follow();
  }

  /** Adds a subscriber. Resolves to a function that removes the subscriber. */
  async join(onChange: () => void): Promise<() => void> {
    // A new function for each subscriber, because a set contains a function once.
    const listener = () => onChange();
    this.#listeners.add(listener);
    await this.#opened;
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#end(undefined);
    };
  }

  /** Reads the stream until the watch ends. Never rejects. */
  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    try {
      for await (const event of this.#instance.events({ signal })) {
        if (event.type === 'state') this.#take(JSON.stringify(event.data.contract));
      }
      // A stream ends without an error if the instance is deleted.
      this.#end(new UnknownInstanceError());
    } catch (error) {
      if (signal.aborted) return;
      const isFinal = FINAL.some((each) => error instanceof each);
      if (isFinal || this.#contract === undefined) return this.#end(error);
      report(error);
      this.#timer = setTimeout(() => void this.#follow(), REOPEN_MS);
    }
  }

  #take(contract: string): void {
    if (this.#contract === undefined) {
      clearTimeout(this.#timer);
      this.#open();
    } else if (this.#contract !== contract) this.#notify();
    this.#contract = contract;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Ends the watch, with an error unless the last subscriber left. Idempotent. */
  #end(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#onEnd();
    if (this.#contract === undefined) this.#fail(error);
    else if (error !== undefined) this.#notify();
    this.#listeners.clear();
  }
}
