import type { Caller } from '#edge/callers/exchange';
import { networkOf, RefusedAddresses } from '#edge/callers/refused-addresses';
import type { GivenUp } from '#edge/listen/bodies';
import { CLIENT_LENGTH_MAX } from '#grpc/bounds';
import type { Clock } from '#stdlib/clock';
import { putNewest } from '#stdlib/put-newest';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

/** A caller and the address that the call came from. */
type Visitor = { readonly caller: Caller; readonly address: string };

/**
 * Cache of facts about API keys: the addresses of refused keys, known keys and reported clients.
 * Members need no facts, because the console has authenticated them.
 */
export class KeyNotes {
  readonly #refused: RefusedAddresses;
  readonly #proxies: SuspectedProxies;
  readonly #clients = new ReportedClients();

  /** `warnings` reports addresses to the operator. */
  constructor(clock: Clock, warnings?: AddressWarnings) {
    this.#refused = new RefusedAddresses(clock, (network) => warnings?.barred(network));
    this.#proxies = new SuspectedProxies(clock, (address, accounts) =>
      warnings?.shared(address, accounts),
    );
  }

  /**
   * Whether a key from a barred address would be refused without asking the limiter. Counts
   * nothing.
   */
  isBarred({ caller, address }: Visitor): boolean {
    if (caller.member !== undefined || !this.#refused.hasBars) return false;
    return this.#refused.isBarred(address, caller.credential);
  }

  /** Whether the limiter may be asked. Counts a look-up from a barred address. */
  mayAsk({ caller, address }: Visitor): boolean {
    return caller.member !== undefined || this.#refused.mayAsk(address, caller.credential);
  }

  /** The client program to report to the limiter with this call; undefined if nothing is due. */
  clientDue({ caller }: Visitor, userAgent: string | undefined, nowMs: number): string | undefined {
    if (caller.member !== undefined) return undefined;
    return this.#clients.due(caller.credential, userAgent, nowMs);
  }

  /** Records that the limiter has received the client program of a key. */
  clientReported({ caller }: Visitor, nowMs: number): void {
    this.#clients.reported(caller.credential, nowMs);
  }

  /** Records that the limiter does not recognise the key. */
  unknown({ caller, address }: Visitor): void {
    if (caller.member === undefined) this.#refused.count(address, caller.credential);
  }

  /** Records that the limiter recognises the key. */
  known({ caller, address }: Visitor): void {
    if (caller.member !== undefined) return;
    if (this.#refused.admit(caller.credential)) this.#proxies.note(address, caller.accountId);
  }
}

/** Maximum number of keys remembered. The client of an evicted key is reported again. */
const KEYS_MAX = 10_000;

const MINUTE_MS = 60_000;

/**
 * Keys whose client program this edge has reported in the current minute. The limiter gets each
 * client once a minute, not with every call.
 */
export class ReportedClients {
  readonly #minutes = new Map<string, number>();

  /** The client to report with a call of the key; undefined if already reported in this minute. */
  due(keyDigest: string, userAgent: string | undefined, nowMs: number): string | undefined {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (this.#minutes.get(keyDigest) === minute) return undefined;
    return clientOf(userAgent);
  }

  /** Records that the limiter has admitted the call with which the client was sent. */
  reported(keyDigest: string, nowMs: number): void {
    putNewest(this.#minutes, keyDigest, Math.floor(nowMs / MINUTE_MS), KEYS_MAX);
  }
}

/** The `User-Agent` cut and reduced to printable ASCII; empty if the caller sent none. */
function clientOf(userAgent = ''): string {
  return userAgent.slice(0, CLIENT_LENGTH_MAX).replaceAll(/[^ -~]/g, '?');
}

/** Number of accounts of one address at which the address counts as a probable load balancer. */
const ACCOUNTS_SUSPECT = 32;

/** Maximum number of addresses remembered. The oldest is evicted first. */
const ADDRESSES_MAX = 2_000;

/** Time window in which the accounts of an address are counted, in milliseconds. */
const GATHERED_MS = 3_600_000;

type Gathered = { readonly sinceMs: number; readonly accounts: Set<string> };

/**
 * Detects addresses that many accounts share.
 *
 * Such an address is probably a load balancer that is not a trusted proxy. All its callers are
 * counted and barred together then.
 */
export class SuspectedProxies {
  readonly #clock: Clock;
  readonly #onShared: (address: string, accounts: number) => void;
  readonly #gathered = new Map<string, Gathered>();

  /** Calls `onShared` at most once an hour per address. */
  constructor(clock: Clock, onShared: (address: string, accounts: number) => void) {
    this.#clock = clock;
    this.#onShared = onShared;
  }

  /** Records an admitted key that was not in this edge's cache. */
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

/** Warnings for the log about addresses. Each kind is logged at most once in 30 s. */
export type AddressWarnings = {
  /** For a minute, only a few unknown keys of a network are looked up. */
  barred(network: string): void;
  /** For a minute, only a few notifications of a network are checked. */
  barredNotifications(network: string): void;
  /** The body of a request was given up, because too many bodies are unfinished. */
  unfinished(what: GivenUp): void;
  /** Many accounts call from one address. */
  shared(address: string, accounts: number): void;
};

/** Creates warnings that log. Each text helps to find a proxy missing from the trusted proxies. */
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
          'an address sent too many refused keys: the edge limits key look-ups of it for a minute',
        ),
      ),
    barredNotifications: (address) =>
      forgeries.run((others) =>
        logger.warn(
          { address, others },
          'an address sent too many refused notifications: the edge limits checks for a minute',
        ),
      ),
    unfinished: (what) =>
      floods.run((others) =>
        logger.warn({ ...what, others }, 'too many unfinished requests: the edge drops the oldest'),
      ),
    shared: (address, accounts) =>
      shares.run((others) =>
        logger.warn(
          { address, accounts, others },
          'many accounts use one address: add trusted proxies to SERVICE_TRUSTED_PROXIES',
        ),
      ),
  };
}
