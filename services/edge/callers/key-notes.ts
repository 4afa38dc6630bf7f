import type { Caller } from '#edge/callers/exchange';
import { networkOf, RefusedAddresses } from '#edge/callers/refused-addresses';
import type { GivenUp } from '#edge/listen/bodies';
import type { Clock } from '#platform/clock';
import { LogRateLimit } from '#platform/log-limits';
import type { Logger } from '#platform/logger';
import { putNewest } from '#platform/put-newest';
import { CLIENT_LENGTH_MAX } from '#wire/bounds';

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

/** Keys remembered; beyond, the client of one that was forgotten is sent again. */
const KEYS_MAX = 10_000;

const MINUTE_MS = 60_000;

/**
 * Which keys this edge has reported the client of in the present minute, so that the limiter hears
 * of each once a minute and not with every call.
 */
export class ReportedClients {
  readonly #minutes = new Map<string, number>();

  /** What is sent with a call of the key; undefined: it was sent before in this minute. */
  due(keyDigest: string, userAgent: string | undefined, nowMs: number): string | undefined {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (this.#minutes.get(keyDigest) === minute) return undefined;
    return clientOf(userAgent);
  }

  /** The limiter has admitted a call that it was sent with. */
  reported(keyDigest: string, nowMs: number): void {
    putNewest(this.#minutes, keyDigest, Math.floor(nowMs / MINUTE_MS), KEYS_MAX);
  }
}

/** A caller's `User-Agent` as it may be stored and printed; empty: it sent none. */
function clientOf(userAgent = ''): string {
  return userAgent.slice(0, CLIENT_LENGTH_MAX).replaceAll(/[^ -~]/g, '?');
}

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

/** Warnings about addresses for the log, each at most once in 30 s. */
export type AddressWarnings = {
  /** Unknown keys from a network are looked up seldom from now on. */
  barred(network: string): void;
  /** Notifications from a network are looked at seldom from now on. */
  barredNotifications(network: string): void;
  /** The body of a request was given up, because too many are unfinished. */
  unfinished(what: GivenUp): void;
  /** Many accounts call from one address. */
  shared(address: string, accounts: number): void;
};

/** Warnings about addresses, for an operator who may have forgotten to say whom to trust. */
export function addressWarnings(clock: Clock, logger: Logger): AddressWarnings {
  const bars = new LogRateLimit(clock);
  const forgeries = new LogRateLimit(clock);
  const floods = new LogRateLimit(clock);
  const shares = new LogRateLimit(clock);
  return {
    barred: (address) =>
      bars.run((others) =>
        logger.warn(
          { address, others },
          'too many refused keys: for a minute few unknown keys of this address are looked up',
        ),
      ),
    barredNotifications: (address) =>
      forgeries.run((others) =>
        logger.warn(
          { address, others },
          'too many refused notifications: for a minute few of this address are looked at',
        ),
      ),
    unfinished: (what) =>
      floods.run((others) =>
        logger.warn({ ...what, others }, 'too many unfinished requests: the oldest are given up'),
      ),
    shared: (address, accounts) =>
      shares.run((others) =>
        logger.warn(
          { address, accounts, others },
          'many accounts call from this address: if it is a proxy, name it in SERVICE_TRUSTED_PROXIES',
        ),
      ),
  };
}
