/**
 * News that an account has changed: its plan, its status or one of its keys. Only that it has, never
 * how: whoever hears it reads the account again. It may come late, twice or not at all, so everybody
 * who rests on it has another way to find out in time. Source: architecture 4.
 */
export interface AccountNews {
  /** Tells everybody who listens, this process included. Call it once the change is stored. */
  announce(accountId: string): void;
  /** Hears of every change, until disposed. `listener` must not throw. */
  onChange(listener: (accountId: string) => void): Disposable;
}
