import { networkOf } from '#edge/network-of';
import type { Clock } from '#platform/clock';
import { putNewest } from '#platform/put-newest';

/** Accounts that call from one address before it looks like a balancer's. */
const ACCOUNTS_SUSPECT = 32;

/** Addresses remembered; the oldest is forgotten first. */
const ADDRESSES_MAX = 2_000;

/** How long the accounts of an address are gathered, in milliseconds. */
const GATHERED_MS = 3_600_000;

type Gathered = { readonly sinceMs: number; readonly accounts: Set<string> };

/**
 * Notices when many accounts call from one address, as they do when a balancer stands in between
 * and its address is not trusted to name its callers: then all of them are counted, and barred, as
 * one.
 */
export class SuspectedProxies {
  readonly #clock: Clock;
  readonly #onShared: (address: string, accounts: number) => void;
  readonly #gathered = new Map<string, Gathered>();

  /** `onShared` is called for an address once an hour at most. */
  constructor(clock: Clock, onShared: (address: string, accounts: number) => void) {
    this.#clock = clock;
    this.#onShared = onShared;
  }

  /** Notes that a key was admitted that this edge had not seen recently. */
  note(address: string, accountId: string): void {
    const { name } = networkOf(address);
    const nowMs = this.#clock.monotonicMs();
    let gathered = this.#gathered.get(name);
    if (gathered === undefined || nowMs - gathered.sinceMs >= GATHERED_MS) {
      gathered = { sinceMs: nowMs, accounts: new Set() };
      putNewest(this.#gathered, name, gathered, ADDRESSES_MAX);
    }
    const { accounts } = gathered;
    if (accounts.size >= ACCOUNTS_SUSPECT) return;
    accounts.add(accountId);
    if (accounts.size === ACCOUNTS_SUSPECT) this.#onShared(name, accounts.size);
  }
}
