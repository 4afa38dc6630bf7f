import type { Caller } from '#edge/http';
import { CLIENT_LENGTH_MAX } from '#grpc/call-bounds';
import type { Clock } from '#stdlib/clock';
import { putNewest } from '#stdlib/hash-map';
import { addressText, readAddress } from '#stdlib/network';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

/** A caller and the address that the call came from. */
type Visitor = { readonly caller: Caller; readonly address: string };

/**
 * Caches facts about API keys: addresses with refused keys, admitted keys, and reported clients.
 * Calls by members are skipped, because the console has authenticated the member.
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
   * Whether the edge would refuse this call without asking the limiter. Does not count the call.
   */
  isBarred({ caller, address }: Visitor): boolean {
    if (caller.member !== undefined || !this.#refused.hasBars) return false;
    return this.#refused.isBarred(address, caller.credential);
  }

  /** Whether the limiter may be asked about this call. For a barred address, counts the look-up. */
  mayAsk({ caller, address }: Visitor): boolean {
    return caller.member !== undefined || this.#refused.mayAsk(address, caller.credential);
  }

  /** The client program to report to the limiter with this call; undefined if nothing is due. */
  clientDue({ caller }: Visitor, userAgent: string | undefined, nowMs: number): string | undefined {
    if (caller.member !== undefined) return undefined;
    return this.#clients.due(caller.credential, userAgent, nowMs);
  }

  /** Records that the limiter has received the key's client program. */
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

/** Maximum remembered keys. After an eviction, the key's client is reported again. */
const KEYS_MAX = 10_000;

const MINUTE_MS = 60_000;

/**
 * Keys whose client program this edge has reported in the current minute. The limiter gets each
 * client once a minute, not with every call.
 */
export class ReportedClients {
  readonly #minutes = new Map<string, number>();

  /** The client to report with this call; undefined if already reported in this minute. */
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

/** An address with this many accounts counts as a probable load balancer. */
const ACCOUNTS_SUSPECT = 32;

/** Maximum remembered addresses. The oldest is evicted first. */
const ADDRESSES_MAX = 2_000;

/** Window for counting the accounts per address, in milliseconds. */
const GATHERED_MS = 3_600_000;

type Gathered = { readonly sinceMs: number; readonly accounts: Set<string> };

/**
 * Detects addresses that many accounts share.
 *
 * Such an address is probably a load balancer that is missing from the trusted proxies. The edge
 * then counts and bars all callers behind the load balancer together.
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

/**
 * An evicted request body, for metrics and log lines. `address` is the network or /48 that exceeded
 * a limit; `bodies` and `bytes` are its totals before the eviction.
 */
export type GivenUp = { readonly address: string; readonly bodies: number; readonly bytes: number };

/** Warnings for the log about addresses. Each kind is logged at most once in 30 s. */
export type AddressWarnings = {
  /** A network is barred: for a minute, the edge looks up only a few unknown keys. */
  barred(network: string): void;
  /** A network is barred: for a minute, the edge checks only a few notifications. */
  barredNotifications(network: string): void;
  /** The edge evicted a request body, because too many bodies are unfinished. */
  unfinished(what: GivenUp): void;
  /** Many accounts call from the same address. */
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
          'an address sent too many refused keys: the edge limits its key look-ups for a minute',
        ),
      ),
    barredNotifications: (address) =>
      forgeries.run((others) =>
        logger.warn(
          { address, others },
          'an address sent too many refused notifications: the edge checks only a few for a minute',
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

/** Refused keys per minute that bar a network. */
const REFUSALS_PER_MINUTE_MAX = 30;

/** Maximum unknown keys per second that are looked up for a barred network. */
const LOOKUPS_PER_SECOND_MAX = 5;

/** Limits for a /48, as a multiple of a network's limits. */
const NETWORKS_PER_SITE = 10;

/** Maximum keys remembered as admitted. The oldest is evicted first. */
const KNOWN_KEYS_MAX = 10_000;

/** How long a key counts as known after its last admission by this edge, in milliseconds. */
const KNOWN_MS = 900_000;

/** Precision of stored admission times, in milliseconds. Saves a map update per call. */
const KNOWN_STEP_MS = 1_000;

/**
 * Counts refused keys per network, and bars networks that guess keys. Source: decision 159.
 *
 * A network with 30 refused keys in a minute is barred for a minute: only 5 unknown keys a second
 * are looked up. So guessed keys cost the limiter almost nothing. A key that was not looked up is
 * never called invalid.
 *
 * Keys that this edge admitted recently are exempt: behind a load balancer, an attacker and honest
 * callers share one address. Refusals are never counted per account, so that guesses cannot bar an
 * account.
 */
export class RefusedAddresses {
  readonly #clock: Clock;
  readonly #onBar: (network: string) => void;
  readonly #networks = new BarTable({
    refusalsPerMinute: REFUSALS_PER_MINUTE_MAX,
    lookupsPerSecond: LOOKUPS_PER_SECOND_MAX,
  });
  readonly #sites = new BarTable({
    refusalsPerMinute: NETWORKS_PER_SITE * REFUSALS_PER_MINUTE_MAX,
    lookupsPerSecond: NETWORKS_PER_SITE * LOOKUPS_PER_SECOND_MAX,
  });
  readonly #admittedMs = new Map<string, number>();

  /** Calls `onBar` with each network or /48 that becomes barred. */
  constructor(clock: Clock, onBar: (network: string) => void) {
    this.#clock = clock;
    this.#onBar = onBar;
  }

  /** Whether any network or /48 may be barred. If not, callers skip all other checks. */
  get hasBars(): boolean {
    if (this.#networks.isEmpty && this.#sites.isEmpty) return false;
    const nowMs = this.#clock.monotonicMs();
    return this.#networks.hasBars(nowMs) || this.#sites.hasBars(nowMs);
  }

  /** Records that the limiter did not recognise a key from `address`. */
  count(address: string, keyDigest: string): void {
    this.#admittedMs.delete(keyDigest);
    const { name, site } = networkOf(address);
    const nowMs = this.#clock.monotonicMs();
    if (this.#networks.count(name, nowMs)) this.#onBar(name);
    if (site !== undefined && this.#sites.count(site, nowMs)) this.#onBar(site);
  }

  /** Records that the limiter recognised the key. Returns whether the key is new to this edge. */
  admit(keyDigest: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#admittedMs.get(keyDigest);
    if (lastMs === undefined || nowMs - lastMs > KNOWN_STEP_MS) {
      putNewest(this.#admittedMs, keyDigest, nowMs, KNOWN_KEYS_MAX);
    }
    return lastMs === undefined;
  }

  /** Whether a key from this address would be refused without a look-up now. Counts nothing. */
  isBarred(address: string, keyDigest: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    return !this.#isKnown(keyDigest, nowMs) && this.#isSpent(networkOf(address), nowMs);
  }

  /** Whether a key from this address may be looked up. For a barred address, counts the look-up. */
  mayAsk(address: string, keyDigest: string): boolean {
    if (!this.hasBars) return true;
    const nowMs = this.#clock.monotonicMs();
    if (this.#isKnown(keyDigest, nowMs)) return true;
    const network = networkOf(address);
    if (this.#isSpent(network, nowMs)) return false;
    const { name, site } = network;
    this.#networks.spend(name, nowMs);
    if (site !== undefined) this.#sites.spend(site, nowMs);
    return true;
  }

  #isSpent({ name, site }: Network, nowMs: number): boolean {
    if (this.#networks.isSpent(name, nowMs)) return true;
    return site !== undefined && this.#sites.isSpent(site, nowMs);
  }

  #isKnown(keyDigest: string, nowMs: number): boolean {
    const admittedMs = this.#admittedMs.get(keyDigest);
    return admittedMs !== undefined && nowMs - admittedMs <= KNOWN_MS;
  }
}

/** Maximum entries in each map. The oldest is evicted first. */
const ENTRIES_MAX = 10_000;

/** Window in which look-ups are counted, in milliseconds. */
const SECOND_MS = 1_000;

/** Limits per source: refusals that cause a bar, and look-ups during a bar. */
type BarLimits = {
  readonly refusalsPerMinute: number;
  readonly lookupsPerSecond: number;
};

type Count = { refusals: number; readonly sinceMs: number };

type Bar = {
  readonly untilMs: number;
  /** When unknown keys were last looked up, newest last; at most `lookupsPerSecond` times. */
  readonly lookupsMs: number[];
};

/**
 * Refused keys per source: a network or a /48. A source that exceeds its limit within a minute is
 * barred for a minute.
 *
 * Bars have a separate map, so that new counts cannot evict bars. To evict a bar, an attacker must
 * fill the whole table with bars, and each bar costs a minute's limit of refused keys.
 */
class BarTable {
  readonly #limits: BarLimits;
  readonly #counts = new Map<string, Count>();
  readonly #bars = new Map<string, Bar>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: BarLimits) {
    this.#limits = limits;
  }

  /** Whether the table holds no bar. */
  get isEmpty(): boolean {
    return this.#bars.size === 0;
  }

  /**
   * Whether any source is barred. Drops expired bars at most once a second, so a bar may last a
   * second longer. An empty table matters: bars cost every call an extra check.
   */
  hasBars(nowMs: number): boolean {
    if (this.#bars.size > 0 && nowMs - this.#lookedMs >= SECOND_MS) {
      this.#lookedMs = nowMs;
      this.#dropExpired(nowMs);
    }
    return this.#bars.size > 0;
  }

  /** Counts a refused key. Returns whether the source becomes barred by this refusal. */
  count(source: string, nowMs: number): boolean {
    if (this.#barOf(source, nowMs) !== undefined) return false;
    let count = this.#counts.get(source);
    if (count === undefined || nowMs - count.sinceMs >= MINUTE_MS) {
      count = { refusals: 0, sinceMs: nowMs };
      putNewest(this.#counts, source, count, ENTRIES_MAX);
    }
    count.refusals += 1;
    if (count.refusals < this.#limits.refusalsPerMinute) return false;
    this.#counts.delete(source);
    this.#dropExpired(nowMs);
    putNewest(this.#bars, source, { untilMs: nowMs + MINUTE_MS, lookupsMs: [] }, ENTRIES_MAX);
    return true;
  }

  /** Whether the source is barred and has used up its look-ups for this second. */
  isSpent(source: string, nowMs: number): boolean {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined || bar.lookupsMs.length < this.#limits.lookupsPerSecond) return false;
    return nowMs - (bar.lookupsMs[0] ?? nowMs) < SECOND_MS;
  }

  /** Records that an unknown key from a barred source is looked up. */
  spend(source: string, nowMs: number): void {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined) return;
    bar.lookupsMs.push(nowMs);
    if (bar.lookupsMs.length > this.#limits.lookupsPerSecond) bar.lookupsMs.shift();
  }

  #barOf(source: string, nowMs: number): Bar | undefined {
    const bar = this.#bars.get(source);
    return bar === undefined || nowMs >= bar.untilMs ? undefined : bar;
  }

  /** Drops expired bars. The map is ordered by end time, so the loop can stop early. */
  #dropExpired(nowMs: number): void {
    for (const [source, { untilMs }] of this.#bars) {
      if (nowMs < untilMs) return;
      this.#bars.delete(source);
    }
  }
}

/** Addresses that are counted together when keys are refused. */
export type Network = {
  /** An IPv4 address, or the /64 of an IPv6 address, the smallest block of one subscriber. */
  readonly name: string;
  /** The /48 that contains an IPv6 network. A /48 gives an attacker 65,536 networks. */
  readonly site: string | undefined;
};

/** Network for all callers whose trusted proxy named no valid address. */
const UNREADABLE: Network = { name: 'unreadable', site: undefined };

/** 16-bit groups in an IPv6 address's /64 and /48. */
const NETWORK_GROUPS = 4;
const SITE_GROUPS = 3;

/** The network that contains an address. `text` is parsed by `readAddress`. */
export function networkOf(text: string): Network {
  const address = readAddress(text);
  if (address === undefined) return UNREADABLE;
  if (address.isV4) return { name: addressText(address), site: undefined };
  const { groups } = address;
  return { name: prefixOf(groups, NETWORK_GROUPS), site: prefixOf(groups, SITE_GROUPS) };
}

function prefixOf(groups: readonly number[], count: number): string {
  const shown = groups.slice(0, count).map((group) => group.toString(16));
  return `${shown.join(':')}::/${count * 16}`;
}
