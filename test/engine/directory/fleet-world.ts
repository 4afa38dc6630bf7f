import fc from 'fast-check';
import { AccountListing } from '#engine/directory/account-listing';
import { applyRead, applyRows, type IndexRead } from '#engine/directory/applied-changes';
import { FleetIndex, type IndexedValues } from '#engine/directory/fleet-index';
import type { ListedPage } from '#engine/directory/listing-page';
import { ScrubRounds } from '#engine/directory/scrub';
import type { InstanceFilter, ListingPage } from '#grpc/list-cursor';
import { levelIn, modeIn, stressIn, TRANSITIONS } from '#identity/transitions';
import type { FeedRow } from '#storage/ports/feeds';

/** Number of instances in a world. */
const INSTANCES = 4;

/** Instances read at once. */
const READS = 2;

/** Time between two steps of the scrub. Longer than a round waits, and than a change can be late. */
const SCRUB_MS = 61_000;

/** Sets of tags in a world. */
const TAGS = ['{}', '{"team":"docs"}', '{"team":"code","tier":"2"}', '{"tier":"2"}'];

/** One random step of a world. */
export type Step = readonly [kind: number, instance: number, value: number];

/** Steps of a world, of all kinds. */
export const arbitrarySteps = (): fc.Arbitrary<Step[]> =>
  fc.array(fc.tuple(fc.nat(99), fc.nat(INSTANCES - 1), fc.nat(2 ** 31 - 1)), {
    minLength: 40,
    maxLength: 160,
  });

/** True state of an instance. */
type Truth = IndexedValues & {
  readonly name: string;
  readonly createdAtMs: number;
  readonly isDeleted: boolean;
};

type Message = { readonly instance: string; readonly truth: Truth };

/** Stress states and drift levels have four values, leading modes eight. */
const flagsAt = (value: number) => value & 0x7fff_ffff;

/**
 * Instances of an account, their messages to the directory, and the feed. Messages arrive late, in
 * any order and repeatedly. The feed gets the changes of an instance in order, late, and again after
 * a take-over. Owners answer reads with the state at the time of the read, and the answers arrive
 * later. A scrub compares the index with the owners, and its answers arrive late as well.
 */
export class IndexWorld {
  readonly listing = new AccountListing();
  readonly truths = new Map<string, Truth>();
  readonly #feed: FeedRow[] = [];
  readonly #unrecorded: FeedRow[] = [];
  readonly #messages: Message[] = [];
  readonly #answers: [IndexRead, Map<string, IndexedValues>][] = [];
  /** Reasons of all repairs. */
  readonly repairs: string[] = [];
  readonly #scrub = new ScrubRounds({ wallMs: () => this.#nowMs, monotonicMs: () => this.#nowMs });
  #scrubbed: (() => void) | undefined;
  #nowMs = 1_000;

  step([kind, instance, value]: Step): void {
    const id = `inst_${instance}`;
    this.#nowMs += 1;
    if (kind < 40) this.#change(id, kind, value);
    else if (kind < 55) this.#deliver(value);
    else if (kind < 65) this.#record(value);
    else if (kind < 72) this.#advance(1 + (value % 4));
    else if (kind < 76) this.#repeat(value);
    else if (kind < 80 && (this.listing.index === undefined || value % 8 === 0)) this.#start();
    else if (kind < 86) this.#ask();
    else if (kind < 91) this.#answer(value);
    else this.scrub();
  }

  /** Begins to compare the next instances, or compares the answers of the owners. */
  scrub(): void {
    if (this.#scrubbed !== undefined) {
      this.#scrubbed();
      this.#scrubbed = undefined;
      return;
    }
    this.#nowMs += SCRUB_MS;
    const reading = this.#scrub.begin(this.listing, READS);
    if (reading === undefined) return;
    const values = this.#read([...reading.held.keys()]);
    this.#scrubbed = () => this.repairs.push(...this.#scrub.end(this.listing, reading, values));
  }

  /** Delivers everything, until nothing is left to do. */
  arriveAll(): void {
    if (this.listing.index === undefined) this.#start();
    while (this.#messages.length > 0) this.#deliver(0);
    while (this.#unrecorded.length > 0) this.#record(0);
    // Answers on their way arrive after the rows of the feed.
    this.#advance(this.#feed.length);
    for (let round = 0; round < 3 * INSTANCES; round += 1) {
      this.#ask();
      while (this.#answers.length > 0) this.#answer(0);
    }
    this.#advance(this.#feed.length);
    this.index.complete();
  }

  get index(): FleetIndex {
    const { index } = this.listing;
    if (index === undefined) throw new Error('the world has no index');
    return index;
  }

  /** All ids of a filtered list in pages of two, and the totals of the pages. */
  walk(page: Omit<ListingPage, 'limit' | 'offset'>) {
    const ids: string[] = [];
    const totals = new Set<number>();
    let cursor: ListingPage['cursor'];
    do {
      const wanted = { ...page, limit: 2, offset: 0, cursor };
      const found = finished(this.#search(wanted));
      ids.push(...found.rows.map(({ instanceId }) => instanceId));
      totals.add(found.total);
      cursor = found.next;
    } while (cursor !== undefined);
    return { ids, totals: [...totals] };
  }

  /** Live instances that pass a filter, in the order of their ids. */
  passing({ stress = ~0, drift = ~0, modes = ~0, tags }: InstanceFilter): string[] {
    return [...this.truths]
      .filter(([, { flags, tagsJson, isDeleted }]) => {
        const has = JSON.parse(tagsJson);
        return (
          !isDeleted &&
          ((stress >>> stressIn(flags)) & 1) === 1 &&
          ((drift >>> levelIn(flags)) & 1) === 1 &&
          ((modes >>> modeIn(flags)) & 1) === 1 &&
          tags.every(([key, value]) => has[key] === value)
        );
      })
      .map(([id]) => id)
      .sort();
  }

  #search(page: ListingPage) {
    const { filter } = page;
    if (page.sort === 'changed_at') {
      return this.listing.byChange(undefined, page, () => 0, this.index.matches(filter));
    }
    return this.listing.search(undefined, page, () => 0, filter && this.index.matches(filter));
  }

  #change(id: string, kind: number, value: number): void {
    const before = this.truths.get(id);
    const atMs = this.#nowMs;
    const version = (before?.version ?? 0) + 1;
    if (before === undefined || before.isDeleted) {
      const tagsJson = TAGS[value % TAGS.length] ?? '{}';
      const times = { createdAtMs: atMs, changedAtMs: atMs };
      const made = { version, flags: flagsAt(value), tagsJson, name: id, ...times };
      this.#commit(id, { ...made, isDeleted: false }, 'created');
      return;
    }
    const changed = { ...before, version };
    if (kind < 8) this.#commit(id, { ...changed, isDeleted: true }, 'deleted');
    else if (kind < 14) {
      this.#commit(id, { ...changed, name: `${value % 9}`, changedAtMs: atMs }, 'renamed');
    } else if (kind < 20) {
      this.#commit(id, { ...changed, tagsJson: TAGS[value % TAGS.length] ?? '{}' }, undefined);
    } else if (kind < 32) {
      this.#commit(id, { ...changed, flags: flagsAt(value), changedAtMs: atMs }, 'stress_changed');
    } else if (kind < 38) this.#commit(id, { ...changed, flags: flagsAt(value) }, 'mode_changed');
    // An observation without a transition has a version of its own.
    else this.truths.set(id, changed);
  }

  #commit(instance: string, truth: Truth, type: (typeof TRANSITIONS)[number] | undefined): void {
    this.truths.set(instance, truth);
    const isListed = type !== 'stress_changed' && type !== 'mode_changed';
    if (isListed) this.#messages.push({ instance, truth });
    if (type === undefined) return;
    const { version, flags } = truth;
    const transition = [TRANSITIONS.indexOf(type), 1, flags, 0];
    this.#unrecorded.push([instance, version, this.#nowMs, [transition]]);
  }

  /** Delivers a message to the directory, sometimes without forgetting it. */
  #deliver(value: number): void {
    const at = value % Math.max(1, this.#messages.length);
    const message = this.#messages[at];
    if (message === undefined) return;
    if (value % 5 !== 1) this.#messages.splice(at, 1);
    const { instance, truth } = message;
    const stored = this.truths.get(instance);
    if (truth.isDeleted) this.listing.remove(instance, truth.version);
    else if (this.listing.isExpecting(instance)) this.#put(instance, truth, truth.tagsJson);
    else if (stored !== undefined && !stored.isDeleted) {
      // The store decides about an unexpected row, and has no tags.
      const tags = stored.version === truth.version ? truth.tagsJson : undefined;
      this.#put(instance, stored, tags);
    }
  }

  #put(instanceId: string, { version, name, createdAtMs }: Truth, tagsJson?: string): void {
    this.listing.put({ instanceId, version, name, createdAtMs }, tagsJson, this.#nowMs);
  }

  /** The feed gets the oldest change of an instance. */
  #record(value: number): void {
    const ids = [...new Set(this.#unrecorded.map(([id]) => id))];
    const id = ids[value % Math.max(1, ids.length)];
    const at = this.#unrecorded.findIndex(([one]) => one === id);
    if (at >= 0) this.#feed.push(...this.#unrecorded.splice(at, 1));
  }

  /** After a take-over, the feed gets the rows of an instance again from some version on. */
  #repeat(value: number): void {
    const at = value % Math.max(1, this.#feed.length);
    const [id, version] = this.#feed[at] ?? [];
    const isRepeated = (row: FeedRow) => row[0] === id && row[1] >= (version ?? 0);
    this.#feed.push(...this.#feed.slice(at).filter(isRepeated));
  }

  #start(): void {
    const position = this.#feed.length;
    this.listing.startIndex(new FleetIndex({ position, digest: 0, atMs: this.#nowMs }));
  }

  /** The feed is applied only to an index whose walk has ended. */
  #advance(count: number): void {
    const { index } = this.listing;
    if (index === undefined || index.walkedTo !== undefined) return;
    const { position } = index.until;
    applyRows(this.listing, position, this.#feed.slice(position, position + count), this.#nowMs);
  }

  #ask(): void {
    const { index } = this.listing;
    if (index === undefined) return;
    const { walkedTo } = index;
    if (walkedTo !== undefined) {
      index.walk(this.listing.rowsAfter(walkedTo, READS), this.#nowMs);
    }
    const ids = index.unreadSince(this.#nowMs, READS);
    const read = { ids, index, puts: index.puts };
    if (ids.length > 0) this.#answers.push([read, this.#read(ids)]);
    else if (index.walkedTo === undefined && index.unread === 0) index.complete();
  }

  /** Answer of the owners now. */
  #read(ids: readonly string[]): Map<string, IndexedValues> {
    const values = ids.flatMap((id) => {
      const truth = this.truths.get(id);
      return truth === undefined || truth.isDeleted ? [] : [[id, truth] as const];
    });
    return new Map(values);
  }

  #answer(value: number): void {
    const [answer] = this.#answers.splice(value % Math.max(1, this.#answers.length), 1);
    if (answer === undefined) return;
    const [read, values] = answer;
    applyRead(this.listing, read, { values, unanswered: new Set() }, this.#nowMs);
  }
}

/** Runs a search to its end. */
function finished(searching: Generator<undefined, ListedPage>): ListedPage {
  for (;;) {
    const { done, value } = searching.next();
    if (done === true) return value;
  }
}

/** A filter with some of its parts. */
export const arbitraryFilter = (): fc.Arbitrary<InstanceFilter> =>
  fc
    .record({
      stress: fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
      drift: fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
      modes: fc.option(fc.integer({ min: 1, max: 255 }), { nil: undefined }),
      tags: fc.subarray([
        ['team', 'docs'],
        ['tier', '2'],
      ] as const),
    })
    .map(({ stress, drift, modes, tags }) => ({
      ...(stress === undefined ? {} : { stress }),
      ...(drift === undefined ? {} : { drift }),
      ...(modes === undefined ? {} : { modes }),
      tags,
    }))
    .filter((filter) => Object.keys(filter).length > 1 || filter.tags.length > 0);
