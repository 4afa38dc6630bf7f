import type { AccountListing } from '#engine/directory/account-listing';
import { applyRead, applyRows, isContinued } from '#engine/directory/applied-changes';
import { FleetIndex } from '#engine/directory/fleet-index';
import type { IndexedOf } from '#engine/directory/indexed-values';
import { rebuilding } from '#engine/directory/kind';
import { Scrub } from '#engine/directory/scrub';
import { isStored, STORED_MS_MAX, StoredIndex, storePart } from '#engine/directory/stored-index';
import type { FeedView, LookFrom } from '#engine/feed/feed';
import { digestOf, type FeedPageParts, rowsIn } from '#engine/feed/pages';
import { type Fault, faultFor, toFault } from '#errors/fault';
import { SUMMARIES_MAX } from '#grpc/engine-messages';
import { type Clock, every, TimeSlices, withinMs } from '#stdlib/clock';
import { type FeedStore, INDEX_PARTS } from '#storage/ports/feeds';
import type { Metrics } from '#telemetry/metrics';

/** Maximum time that a call waits for its index, in milliseconds. */
const WAIT_MS_MAX = 1_000;

/** Time for which a build runs before other work of the process, in milliseconds. */
const SLICE_MS = 8;

/** Rows of the feed that one turn applies. Takes about a millisecond. */
const ROWS_PER_TURN = 512;

/** Instances whose values are read at once, in about eight calls. */
const READS_MAX = 8 * SUMMARIES_MAX;

/**
 * Time after which the values of a new instance are read from its owner, in milliseconds. Usually
 * its creation arrives by the feed before.
 */
const UNREAD_MS = 2_000;

/** Time between two refreshes of an index in use, in milliseconds. Keeps the way of a call short. */
const REFRESH_MS = 1_000;

/** Parts of indexes that are stored between two refreshes, of all accounts together. */
const STORED_PARTS = 4;

/** Time after the last call for which an index is refreshed, in milliseconds. */
const IN_USE_MS = 10 * 60 * 1_000;

/** Maximum number of refreshes by the timer that a quiet feed leaves out. */
const QUIET_MAX = 7;

/** Time for which calls of an account with too many tags are refused, in milliseconds. */
const REFUSED_MS = 60_000;

/** Maximum number of accounts whose index is refreshed, and of indexes that are built at once. */
const IN_USE_MAX = 1_024;
const BUILDS_MAX = 8;

type IndexerPorts = {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly store: FeedStore;
  /** Whether all engines record transitions and answer the values of instances. */
  readonly mayIndex: () => boolean;
  /** Runs a function in a turn of the account's directory. */
  readonly useListing: (accountId: string, use: (listing: AccountListing) => void) => Promise<void>;
  /** Looks at the account's feed, which has the same owner as its directory. */
  readonly look: (accountId: string, from: LookFrom, count: number) => Promise<FeedView>;
  readonly indexedOf: IndexedOf;
};

/** Refreshes of an account's index, one after the other. */
type Account = {
  usedAtMs: number;
  /** The newest refresh, which runs or waits. Never rejects. */
  last: Promise<void>;
  /** Refresh that has not begun. */
  next: Promise<void> | undefined;
  /** Refreshes that run or wait. */
  refreshes: number;
  /** Number of refreshes by the timer that are left out, because the feed is quiet. */
  quiet: number;
  pauses: number;
  /** Time before which calls are refused, because of too many tags; monotonic milliseconds. */
  refusedUntilMs: number;
  /** Whether instances that became unread after the build are being read. */
  isReading: boolean;
  unreadable: number;
  /** Parts that the build takes values from. */
  stored: StoredIndex | undefined;
  /** Whether the account is large enough for its index to be stored. */
  isStored: boolean;
  /** Number of parts that have been stored since the first call. */
  storedParts: number;
};

const newAccount = (): Account => ({
  ...{ usedAtMs: 0, refreshes: 0, quiet: 0, pauses: 0, refusedUntilMs: 0, unreadable: 0 },
  ...{ last: Promise.resolve(), next: undefined, isReading: false, stored: undefined },
  ...{ isStored: false, storedParts: 0 },
});

/**
 * Builds the indexes of accounts when they are first used, and keeps them up to date from the feeds
 * of the accounts (decision 325).
 *
 * A build notes the end of the feed, and then reads the values of every instance from its owner. A
 * change that an owner's answer does not contain happens after this end, so the feed has the change
 * behind it.
 */
export class Indexer implements Disposable {
  readonly #ports: IndexerPorts;
  readonly #accounts = new Map<string, Account>();
  readonly #buildSeconds;
  readonly #failures;
  readonly #unreadable;
  /** Indexes without a time at which an engine did not record its transitions. */
  #whole = new WeakSet<FleetIndex>();
  /** Last time at which an engine did not record its transitions, in Unix milliseconds. */
  #unrecordedAtMs = 0;
  readonly #scrub: Scrub;
  #builds = 0;
  #isStoring = false;
  readonly #timer: Disposable;
  #isDisposed = false;

  constructor(ports: IndexerPorts) {
    this.#ports = ports;
    const { clock, metrics } = ports;
    this.#buildSeconds = metrics.histogram('index_build_seconds').labels({});
    this.#failures = metrics.counter('index_build_failures_total');
    this.#failures.inc(0);
    this.#unreadable = metrics.gauge('index_unreadable_instances').labels({});
    this.#unreadable.set(0);
    this.#scrub = new Scrub({ ...ports, use: (accountId, use) => this.use(accountId, use) });
    this.#timer = every(clock, REFRESH_MS, () => void this.#refreshAll());
  }

  /**
   * Fulfils when the account's index has all changes that the feed had at the time of this call.
   * Throws `index_rebuilding` after a second; the index is then built in the background. Throws
   * `too_many_tags` if the tags of the account need too much memory, and `upgrade_in_progress` while
   * an engine cannot answer the values of its instances.
   */
  async ready(accountId: string): Promise<void> {
    if (!this.#mayIndex()) {
      const text = 'some engines run an earlier release, which has no index; retry later';
      throw faultFor('upgrade_in_progress', text, { retryAfterS: 60 });
    }
    const account = this.#inUse(accountId);
    if (account.refusedUntilMs > account.usedAtMs) throw tooManyTags();
    const refreshed = this.#refreshed(accountId, account);
    await withinMs(this.#ports.clock, WAIT_MS_MAX, refreshed, rebuilding);
  }

  /** Runs a function in a turn of the account's directory. */
  async use<Result>(accountId: string, use: (listing: AccountListing) => Result): Promise<Result> {
    const results: Result[] = [];
    await this.#ports.useListing(accountId, (listing) => void results.push(use(listing)));
    return results[0] as Result;
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer[Symbol.dispose]();
    for (const accountId of this.#accounts.keys()) this.#end(accountId);
  }

  /**
   * Whether every engine records its transitions. While one does not, transitions are missing in the
   * feeds, so the indexes of this time and of all times before are not used.
   */
  #mayIndex(): boolean {
    if (this.#ports.mayIndex()) return true;
    this.#whole = new WeakSet();
    this.#unrecordedAtMs = this.#ports.clock.wallMs();
    return false;
  }

  #inUse(accountId: string): Account {
    const account = this.#accounts.get(accountId) ?? newAccount();
    account.usedAtMs = this.#ports.clock.monotonicMs();
    this.#accounts.delete(accountId);
    this.#accounts.set(accountId, account);
    if (this.#accounts.size <= IN_USE_MAX) return account;
    const idle = this.#accounts.entries().find(([, { refreshes }]) => refreshes === 0);
    if (idle === undefined) throw faultFor('overloaded', 'too many indexes are in use');
    this.#end(idle[0]);
    return account;
  }

  async #refreshAll(): Promise<void> {
    const { clock } = this.#ports;
    if (!this.#mayIndex()) return;
    void this.#storeSome();
    this.#scrub.step(new Set(this.#accounts.keys()));
    const slices = new TimeSlices(clock, SLICE_MS);
    for (const [accountId, account] of this.#accounts) {
      if (this.#isDisposed) return;
      if (account.refreshes > 0) continue;
      if (clock.monotonicMs() - account.usedAtMs >= IN_USE_MS) this.#end(accountId);
      else if (account.pauses > 0) account.pauses -= 1;
      else this.#refreshed(accountId, account).catch((error) => this.#failed(accountId, error));
      await slices.next();
    }
  }

  /** The shard may have left this node, and then the next call begins again. A build goes on. */
  #failed(accountId: string, error: unknown): void {
    if (toFault(error).reason !== 'index_rebuilding') this.#end(accountId);
  }

  /** A refresh that begins after this call. Calls that wait share it. */
  #refreshed(accountId: string, account: Account): Promise<void> {
    if (account.next !== undefined) return account.next;
    account.refreshes += 1;
    const refresh = account.last
      .then(() => {
        account.next = undefined;
        return this.#refresh(accountId, account);
      })
      .finally(() => {
        account.refreshes -= 1;
      });
    account.next = refresh;
    account.last = refresh.catch(() => undefined);
    return refresh;
  }

  async #refresh(accountId: string, account: Account): Promise<void> {
    const isComplete = await this.use(accountId, ({ index }) => {
      return index !== undefined && this.#whole.has(index) ? index.isComplete : undefined;
    });
    if (isComplete !== true) await this.#build(accountId, account, isComplete === undefined);
    const isQuiet = await this.#advance(accountId);
    account.quiet = isQuiet ? Math.min(2 * account.quiet + 1, QUIET_MAX) : 0;
    account.pauses = account.quiet;
    const { clock } = this.#ports;
    const late = await this.use(accountId, (listing) => {
      const { index } = listing;
      // An engine of an earlier release may have come during the build.
      if (index === undefined || !this.#whole.has(index)) throw rebuilding();
      this.#show(account, index.unreadable);
      account.isStored = isStored(listing);
      return index.unreadSince(clock.wallMs() - UNREAD_MS, READS_MAX);
    });
    await this.#assertFits(accountId, account);
    if (late.length === 0 || account.isReading) return;
    // No call waits for these instances, because a list without them is no wrong list: `GET /fleet`
    // counts them as unknown.
    account.isReading = true;
    void this.#read(accountId, late)
      .catch(() => this.#failures.inc())
      .finally(() => {
        account.isReading = false;
      });
  }

  /** Drops an index whose tags need too much memory, and refuses calls for some time. */
  async #assertFits(accountId: string, account: Account): Promise<void> {
    const isTooLarge = await this.use(accountId, (listing) => {
      if (listing.index?.isTooLarge !== true) return false;
      listing.startIndex(undefined);
      return true;
    });
    if (!isTooLarge) return;
    account.refusedUntilMs = this.#ports.clock.monotonicMs() + REFUSED_MS;
    throw tooManyTags();
  }

  /** Stores the next parts of the indexes in use, so that a take-over need not read all owners. */
  async #storeSome(): Promise<void> {
    if (this.#isStoring) return;
    this.#isStoring = true;
    try {
      for (let count = 0; count < STORED_PARTS; count += 1) {
        const [next] = [...this.#accounts]
          .filter(([, account]) => account.isStored)
          .sort(([, a], [, b]) => a.storedParts - b.storedParts);
        if (next === undefined) return;
        const [accountId, account] = next;
        const part = account.storedParts % INDEX_PARTS;
        account.storedParts += 1;
        await storePart(accountId, part, this.#ports.store, (use) => this.use(accountId, use));
      }
    } catch {
      // The next part is stored a second later. The metrics of statements show failures.
    } finally {
      this.#isStoring = false;
    }
  }

  /** Ends the refreshes of an account. Its index stays in the memory of its directory. */
  #end(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined || (account.refreshes > 0 && !this.#isDisposed)) return;
    this.#accounts.delete(accountId);
    this.#show(account, 0);
  }

  #show(account: Account, unreadable: number): void {
    this.#unreadable.inc(unreadable - account.unreadable);
    account.unreadable = unreadable;
  }

  async #build(accountId: string, account: Account, isNew: boolean): Promise<void> {
    if (this.#builds >= BUILDS_MAX) throw rebuilding();
    this.#builds += 1;
    const { clock } = this.#ports;
    const startMs = clock.monotonicMs();
    const slices = new TimeSlices(clock, SLICE_MS);
    try {
      if (isNew) account.stored = await this.#start(accountId);
      while (await this.#readNext(accountId, account)) await slices.next();
      account.stored = undefined;
      this.#buildSeconds.observe((clock.monotonicMs() - startMs) / 1_000);
    } catch (error) {
      this.#failures.inc();
      throw error;
    } finally {
      this.#builds -= 1;
    }
  }

  /** Starts an empty index. Returns the stored index from which a part of its values comes. */
  async #start(accountId: string): Promise<StoredIndex | undefined> {
    const { clock, look } = this.#ports;
    const atMs = clock.wallMs();
    const { from: position, previous } = await look(accountId, 'newest', 0);
    const sinceMs = Math.max(atMs - STORED_MS_MAX, this.#unrecordedAtMs);
    const stored = (await this.use(accountId, isStored))
      ? await StoredIndex.read(this.pagesOf(accountId), sinceMs)
      : undefined;
    const until = stored?.until ?? { position, digest: digestOf(previous), atMs };
    const index = new FleetIndex(until);
    this.#whole.add(index);
    await this.use(accountId, (listing) => listing.startIndex(index));
    return stored;
  }

  /** Reads the values of the next instances. False: the index is complete. */
  async #readNext(accountId: string, account: Account): Promise<boolean> {
    const nowMs = this.#ports.clock.wallMs();
    const ids = await this.use(accountId, (listing) => {
      const { index } = listing;
      if (index === undefined || this.#isDisposed) throw rebuilding();
      const { walkedTo } = index;
      if (walkedTo !== undefined && index.unread < READS_MAX) {
        const rows = listing.rowsAfter(walkedTo, READS_MAX);
        index.walk(rows, nowMs, (row) => account.stored?.valuesOf(row));
      }
      if (index.unread === 0 && index.walkedTo === undefined) index.complete();
      return index.isComplete ? undefined : index.unreadIds(READS_MAX);
    });
    if (ids === undefined) return false;
    await this.#assertFits(accountId, account);
    // Without an answer, the next refresh continues.
    if (ids.length > 0 && (await this.#read(accountId, ids)) === 0) throw rebuilding();
    return true;
  }

  /** Reads the values of instances from their owners. Returns the number of answers. */
  async #read(accountId: string, ids: readonly string[]): Promise<number> {
    const { clock, indexedOf } = this.#ports;
    const begun = await this.use(accountId, ({ index }) => ({ index, puts: index?.puts ?? 0 }));
    const indexed = await indexedOf(accountId, ids);
    return await this.use(accountId, (listing) =>
      applyRead(listing, { ids, ...begun }, indexed, clock.wallMs()),
    );
  }

  /** Applies the rows of the feed up to its present end. True: there were none. */
  async #advance(accountId: string): Promise<boolean> {
    const { clock, look } = this.#ports;
    const slices = new TimeSlices(clock, SLICE_MS);
    for (let rowsApplied = 0; ; ) {
      const until = await this.use(accountId, ({ index }) => index?.until);
      if (until === undefined) throw rebuilding();
      const { position: from } = until;
      const atMs = clock.wallMs();
      const view = await look(accountId, from, ROWS_PER_TURN);
      if (!isContinued(until, view)) {
        // The next call builds another index.
        await this.use(accountId, (listing) => listing.startIndex(undefined));
        throw rebuilding();
      }
      const rows = await rowsIn(view, this.pagesOf(accountId), ROWS_PER_TURN);
      const isEnd = from + rows.length >= view.next;
      await this.use(accountId, (listing) => {
        applyRows(listing, from, rows, isEnd ? atMs : until.atMs);
      });
      rowsApplied += rows.length;
      if (isEnd) return rowsApplied === 0;
      await slices.next();
    }
  }

  /** Dependencies of pages of the account's feed. */
  pagesOf(accountId: string): FeedPageParts {
    const { store, look } = this.#ports;
    return { accountId, store, look: (from, count) => look(accountId, from, count) };
  }
}

function tooManyTags(): Fault {
  return faultFor(
    'too_many_tags',
    'the account has too many different tags for filters and counts',
  );
}
