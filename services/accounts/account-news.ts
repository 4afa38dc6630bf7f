/**
 * News that an account has changed: its plan, its status or one of its keys. Only that it has,
 * never how: a listener reads the account again. It may come late, twice or not at all, so every
 * listener has another way to find out in time. Source: architecture 4.
 */
export interface AccountNews {
  /** Whether news comes through now, as far as is known: what is announced meanwhile is lost. */
  readonly isHeard: boolean;
  /** Notifies every listener, those of this process included. Called once the change is stored. */
  announce(accountId: string): void;
  /** Calls `listener` for every change, until disposed. It must not throw. */
  onChange(listener: (accountId: string) => void): Disposable;
}
