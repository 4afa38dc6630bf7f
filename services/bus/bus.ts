/** Who published a message, where the bus vouches for it. */
export type Sender = {
  /** One opened bus of a process: another one after every start. */
  readonly incarnation: string;
  /** The publisher's wall clock as it published, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/** Hears the messages of a subject. Must not throw. `sender` is undefined on a bus within one process. */
export type Listener = (message: Uint8Array, sender?: Sender) => void;

/** Hears the sender of a message that goes no further. Must not throw. */
export type OnStranger = (sender: Sender) => void;

/**
 * Messages between the processes of a cluster, at most once, in no promised order, possibly late.
 * Nothing may be believed that a table has not confirmed (architecture 3).
 */
export interface Bus extends AsyncDisposable {
  /** How its own messages name their sender; undefined on a bus that vouches for none. */
  readonly incarnation?: string;
  /** Whether messages can reach others now, as far as this process knows. */
  readonly isConnected: boolean;
  /** Sends to everybody who listens, this process included; dropped while there is no connection. */
  publish(subject: string, message: Uint8Array): void;
  /**
   * Hears a subject, through reconnects, until disposed. `onStranger` hears of each message that
   * `listener` does not hear because its sender's clock and ours are too far apart, where the bus
   * vouches for senders: it may be old, so nothing follows from its content.
   */
  subscribe(subject: string, listener: Listener, onStranger?: OnStranger): Disposable;
}
