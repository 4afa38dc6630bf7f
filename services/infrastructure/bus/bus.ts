/** Authenticated sender of a message. */
export type Sender = {
  /** Id of the opened bus. Every start of the process creates a new id. */
  readonly incarnation: string;
  /** Sender's wall clock at the time of publishing, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/**
 * Receives the messages of a subject. Must not throw. `sender` is undefined on a bus that does not
 * authenticate senders.
 */
export type Listener = (message: Uint8Array, sender?: Sender) => void;

/** Receives the sender of a message that was dropped because of its time. Must not throw. */
export type OnStranger = (sender: Sender) => void;

/**
 * Publish-subscribe between the processes of a cluster. Delivery is at most once, unordered and
 * possibly late. Before a process relies on the content of a message, a table must confirm the
 * content (architecture 3).
 */
export interface Bus extends AsyncDisposable {
  /**
   * Sender id in this process's own messages. Undefined on a bus that does not authenticate
   * senders.
   */
  readonly incarnation?: string;
  /** Whether messages can reach other processes now, as far as this process knows. */
  readonly isConnected: boolean;
  /**
   * Whether messages of nodes arrive now, also without the server of the bus. Undefined: equal to
   * `isConnected`.
   */
  readonly hearsNodes?: boolean;
  /**
   * Publishes to all subscribers, including subscribers in this process. Drops the message while
   * disconnected.
   */
  publish(subject: string, message: Uint8Array): void;
  /**
   * Subscribes to a subject, across reconnects, until disposed. `onStranger` receives the sender of
   * each message that is dropped because the sender was not heard before and its clock differs too
   * much from the local clock. Only a bus that authenticates senders calls `onStranger`. Such a
   * message may be old, so its content is not delivered.
   */
  subscribe(subject: string, listener: Listener, onStranger?: OnStranger): Disposable;
}
