import type { AddressWarnings } from '#edge/address-warnings';
import type { Caller } from '#edge/exchange';
import { RefusedAddresses } from '#edge/refused-addresses';
import { ReportedClients } from '#edge/reported-clients';
import { SuspectedProxies } from '#edge/suspected-proxies';
import type { Clock } from '#platform/clock';

/** Who calls, and from where. */
type Visitor = { readonly caller: Caller; readonly address: string };

/**
 * What an edge remembers of the keys that it is shown: from where the limiter refused them, and which
 * it knows. Of members there is nothing to remember: the console has found them itself.
 */
export class KeyNotes {
  readonly #refused: RefusedAddresses;
  readonly #proxies: SuspectedProxies;
  readonly #clients = new ReportedClients();

  /** `warnings` reports addresses that an operator should know of. */
  constructor(clock: Clock, warnings?: AddressWarnings) {
    this.#refused = new RefusedAddresses(clock, (network) => warnings?.barred(network));
    this.#proxies = new SuspectedProxies(clock, (address, accounts) =>
      warnings?.shared(address, accounts),
    );
  }

  /** Whether the limiter would not be asked about a key now. Counts nothing. */
  isBarred({ caller, address }: Visitor): boolean {
    if (caller.member !== undefined || !this.#refused.hasBars) return false;
    return this.#refused.isBarred(address, caller.credential);
  }

  /** Whether the limiter may be asked; asking about a key from a barred address is counted. */
  mayAsk({ caller, address }: Visitor): boolean {
    return caller.member !== undefined || this.#refused.mayAsk(address, caller.credential);
  }

  /** What the limiter is to hear of the caller's program; undefined: nothing. */
  clientDue({ caller }: Visitor, userAgent: string | undefined, nowMs: number): string | undefined {
    if (caller.member !== undefined) return undefined;
    return this.#clients.due(caller.credential, userAgent, nowMs);
  }

  /** The limiter has heard of the program of a key. */
  clientReported({ caller }: Visitor, nowMs: number): void {
    this.#clients.reported(caller.credential, nowMs);
  }

  /** The limiter does not know the key. */
  unknown({ caller, address }: Visitor): void {
    if (caller.member === undefined) this.#refused.count(address, caller.credential);
  }

  /** The limiter knows the key. */
  known({ caller, address }: Visitor): void {
    if (caller.member !== undefined) return;
    if (this.#refused.admit(caller.credential)) this.#proxies.note(address, caller.accountId);
  }
}
