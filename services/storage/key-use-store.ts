/** When and from where a key was used last, as of a minute. */
export type KeyUse = {
  /** Of the key. */
  readonly digest: string;
  /** Unix time in whole minutes. */
  readonly minute: number;
  /** Where the call came from, as `addressText` writes it; undefined: it was no address. */
  readonly address: string | undefined;
  /** The program that called, as it called itself; undefined: it did not. */
  readonly client: string | undefined;
};

/**
 * The last uses of keys. Of two notes on a key the later minute wins, whatever comes late or twice;
 * of two in the same minute one stays, whole. Every method rejects with `service_unavailable` when
 * the store cannot be reached; then a note may have been made.
 */
export interface KeyUseStore {
  /** Notes a use. */
  note(accountId: string, use: KeyUse): Promise<void>;
  /** The last use of every key of an account that has been used, in no order. */
  find(accountId: string): Promise<readonly KeyUse[]>;
  /** Removes those of an account for good: what is noted later is dropped. May be repeated. */
  erase(accountId: string): Promise<void>;
}
