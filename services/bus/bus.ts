/** Hears the messages of a subject. Must not throw. */
export type Listener = (message: Uint8Array) => void;

/**
 * Messages between the processes of a cluster, at most once, in no promised order, possibly late.
 * Nothing may be believed that a table has not confirmed (architecture 3).
 */
export interface Bus extends AsyncDisposable {
  /** Whether messages can reach others now, as far as this process knows. */
  readonly isConnected: boolean;
  /** Sends to everybody who listens, this process included; dropped while there is no connection. */
  publish(subject: string, message: Uint8Array): void;
  /** Hears a subject, through reconnects, until disposed. */
  subscribe(subject: string, listener: Listener): Disposable;
}
