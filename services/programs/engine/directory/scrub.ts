import type { AccountListing } from '#engine/directory/account-listing';
import type { IndexedRow } from '#engine/directory/fleet-columns';
import type { FleetIndex, HeldValues, IndexedValues } from '#engine/directory/fleet-index';
import type { IndexedOf } from '#engine/directory/indexed-values';
import type { Clock } from '#stdlib/clock';
import type { Metrics } from '#telemetry/metrics';

/**
 * Instances of all accounts that a step reads. A step is a second, and an owner may have to read a
 * stored head for each instance.
 */
const INSTANCES_MAX = 512;

/** Minimum time between two rounds of an account, in milliseconds. Saves reads of small accounts. */
const ROUND_MS_MIN = 60_000;

/**
 * Time after which a change that the feed has not brought is lost, in milliseconds. After 20 s
 * without its feed, an account takes no further changes (architecture 3.9).
 */
const LOST_MS = 30_000;

/** Suspected instances of an account. The next round finds further ones. */
const SUSPECTS_MAX = 1_024;

/**
 * Causes of repairs. `missed`: a change that did not arrive, or damage to a value that is older than
 * the owner's. `counters`: counters that do not equal a count of the values.
 */
export const REPAIR_REASONS = ['damaged', 'missed', 'counters'] as const;
type RepairReason = (typeof REPAIR_REASONS)[number];

type ScrubPorts = {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly indexedOf: IndexedOf;
  /** Runs a function in a turn of the account's directory. */
  readonly use: <Result>(
    accountId: string,
    use: (listing: AccountListing) => Result,
  ) => Promise<Result>;
};

/**
 * Scrub of the indexes in use (decision 325): compares their values with the values of the owners, a
 * few instances at a time, and repairs differences. Each step continues with the account that has
 * waited longest.
 */
export class Scrub {
  readonly #ports: ScrubPorts;
  readonly #repairs;
  /** An index that is not in use keeps its place in the round. */
  readonly #rounds = new WeakMap<FleetIndex, ScrubRounds>();
  /** Accounts in the order in which they were last compared. */
  readonly #accountIds = new Set<string>();
  #isRunning = false;

  constructor(ports: ScrubPorts) {
    this.#ports = ports;
    this.#repairs = ports.metrics.counter('index_repairs_total');
    for (const reason of REPAIR_REASONS) this.#repairs.inc({ reason }, 0);
  }

  /**
   * Compares the next instances of these accounts. Does nothing while an earlier step runs. Call
   * once a second.
   */
  step(accountIds: ReadonlySet<string>): void {
    for (const id of this.#accountIds) if (!accountIds.has(id)) this.#accountIds.delete(id);
    for (const id of accountIds) this.#accountIds.add(id);
    if (this.#isRunning) return;
    this.#isRunning = true;
    // An owner that fails, or a directory that has moved, is no difference. A later round follows.
    this.#run()
      .catch(() => undefined)
      .finally(() => {
        this.#isRunning = false;
      });
  }

  async #run(): Promise<void> {
    let left = INSTANCES_MAX;
    for (const accountId of [...this.#accountIds]) {
      if (left === 0) return;
      this.#accountIds.delete(accountId);
      this.#accountIds.add(accountId);
      left -= await this.#compare(accountId, left);
    }
  }

  /** Compares at most `count` instances of an account. Returns their number. */
  async #compare(accountId: string, count: number): Promise<number> {
    const { indexedOf, use } = this.#ports;
    const reading = await use(accountId, (listing) => this.#begin(listing, count));
    if (reading === undefined) return 0;
    const { values, unanswered } = await indexedOf(accountId, [...reading.held.keys()]);
    const held = new Map([...reading.held].filter(([id]) => !unanswered.has(id)));
    await use(accountId, (listing) => {
      const repairs =
        this.#rounds.get(reading.index)?.end(listing, { ...reading, held }, values) ?? [];
      for (const reason of repairs) this.#repairs.inc({ reason });
    });
    return reading.held.size;
  }

  #begin(listing: AccountListing, count: number): Reading | undefined {
    const { index } = listing;
    if (index === undefined) return undefined;
    const rounds = this.#rounds.get(index) ?? new ScrubRounds(this.#ports.clock);
    this.#rounds.set(index, rounds);
    return rounds.begin(listing, count);
  }
}

/** A read of some instances, and what the index had when the read began. */
type Reading = {
  readonly index: FleetIndex;
  readonly held: ReadonlyMap<string, HeldValues | undefined>;
  readonly isLast: boolean;
};

/** Rounds through the instances of one index, in the order of their ids. */
export class ScrubRounds {
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  #reachedId = '';
  /** Start of the round, by the monotonic clock. */
  #startMs = Number.NEGATIVE_INFINITY;
  /** Tags change without flags and flags without tags, so each part has its own suspects. */
  readonly #flags = new Suspects();
  readonly #tags = new Suspects();

  constructor(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Chooses at most `count` instances. Undefined: nothing is to do now. */
  begin(listing: AccountListing, count: number): Reading | undefined {
    const { index } = listing;
    if (index === undefined || !index.isComplete) return undefined;
    const { atMs } = index.until;
    const suspects = [...this.#flags.due(atMs), ...this.#tags.due(atMs)];
    // A round goes on, however many suspects there are.
    const ids = new Set(suspects.slice(0, Math.ceil(count / 2)));
    const isLast = this.#continue(listing, count - ids.size, ids);
    const held = [...ids].map((id) => {
      const row = listing.rowOf(id);
      return [id, row && index.heldOf(row)] as const;
    });
    return held.length === 0 && !isLast ? undefined : { index, held: new Map(held), isLast };
  }

  /** Adds the next instances of the round. Returns whether they are the last ones. */
  #continue(listing: AccountListing, count: number, ids: Set<string>): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#reachedId === '') {
      if (nowMs - this.#startMs < ROUND_MS_MIN) return false;
      this.#startMs = nowMs;
    }
    const rows = listing.rowsAfter(this.#reachedId, count);
    for (const { instanceId } of rows) ids.add(instanceId);
    const isLast = rows.length < count;
    this.#reachedId = isLast ? '' : (rows.at(-1)?.instanceId ?? this.#reachedId);
    return isLast;
  }

  /** Compares the answers of the owners with the index. Returns the reasons of all repairs. */
  end(
    listing: AccountListing,
    { index, held, isLast }: Reading,
    values: ReadonlyMap<string, IndexedValues>,
  ): RepairReason[] {
    // Another index has been built meanwhile.
    if (listing.index !== index) return [];
    const repairs = [...held].flatMap(([id, before]) => {
      const row = listing.rowOf(id);
      const owners = values.get(id);
      const now = row && index.heldOf(row);
      if (row !== undefined && owners !== undefined && now !== undefined && before !== undefined) {
        return this.#compare(index, row, before, now, owners) ?? [];
      }
      // The instance was created, deleted or damaged.
      this.#trust(id);
      const isUnread = row !== undefined && owners !== undefined && now === undefined;
      if (isUnread) index.learn(row, owners, this.#clock.wallMs());
      return [];
    });
    if (repairs.length === 0 && !isLast) return [];
    // A damaged value has left its counters wrong, or leaves them wrong when it is replaced.
    const areRight = index.recount();
    return areRight || repairs.length > 0 ? repairs : ['counters'];
  }

  #compare(
    index: FleetIndex,
    row: IndexedRow,
    before: HeldValues,
    now: HeldValues,
    owners: IndexedValues,
  ): RepairReason | undefined {
    const { instanceId: id } = row;
    const { version } = owners;
    const areFlagsSame = now.flags === owners.flags && now.changedAtMs === owners.changedAtMs;
    const areTagsSame = now.tagsJson === owners.tagsJson;
    const flags = stateOf(before.flagsVersion, now.flagsVersion, version, areFlagsSame);
    const tags = stateOf(before.tagsVersion, now.tagsVersion, version, areTagsSame);
    // A repair would bring back the older values of the owner's answer.
    if (flags === 'newer' || tags === 'newer') return undefined;
    const times = { feedMs: index.until.atMs, nowMs: this.#clock.wallMs() };
    const isDamaged = flags === 'damaged' || tags === 'damaged';
    const areFlagsLost = this.#flags.isLost(id, flags, now.flagsVersion, times);
    const areTagsLost = this.#tags.isLost(id, tags, now.tagsVersion, times);
    if (isDamaged || areFlagsLost || areTagsLost) {
      index.repair(row, owners);
      this.#trust(id);
      return isDamaged ? 'damaged' : 'missed';
    }
    // A version that is too low because of damage becomes right again.
    if (flags === 'same' && tags === 'same') index.learn(row, owners, times.nowMs);
    return undefined;
  }

  #trust(id: string): void {
    this.#flags.delete(id);
    this.#tags.delete(id);
  }
}

/**
 * Relation of a part of an index to the owner. `late`: the feed may still bring the change. `newer`:
 * the part has changed since the read began.
 */
type PartState = 'same' | 'damaged' | 'late' | 'newer';

/**
 * Compares a part of an instance's values. Versions of committed changes only grow, and an owner
 * answers with the newest version, so a version that was higher before the read is damaged.
 */
function stateOf(before: number, now: number, owners: number, areSame: boolean): PartState {
  if (now > owners) return before > owners ? 'damaged' : 'newer';
  if (areSame) return 'same';
  return now === owners ? 'damaged' : 'late';
}

/** Version in the index, and since when it was known to be late, by the wall clock. */
type Suspect = { readonly version: number; readonly sinceMs: number };

/** Instances that are older in the index than at their owners, with other values. */
class Suspects {
  readonly #suspects = new Map<string, Suspect>();

  /** Instances whose changes are lost unless they have arrived since. */
  due(feedMs: number): string[] {
    const ids: string[] = [];
    for (const [id, { sinceMs }] of this.#suspects) {
      if (feedMs - sinceMs < LOST_MS) break;
      ids.push(id);
    }
    return ids;
  }

  /**
   * Whether a late change is lost: the index has followed the feed up to `feedMs`, and the version
   * was the same `LOST_MS` before.
   */
  isLost(
    id: string,
    state: PartState,
    version: number,
    { feedMs, nowMs }: { readonly feedMs: number; readonly nowMs: number },
  ): boolean {
    const suspect = this.#suspects.get(id);
    if (state === 'late' && suspect?.version === version) {
      return feedMs - suspect.sinceMs >= LOST_MS;
    }
    this.#suspects.delete(id);
    if (state === 'late' && this.#suspects.size < SUSPECTS_MAX) {
      this.#suspects.set(id, { version, sinceMs: nowMs });
    }
    return false;
  }

  delete(id: string): void {
    this.#suspects.delete(id);
  }
}
