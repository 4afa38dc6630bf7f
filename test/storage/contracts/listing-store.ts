import fc from 'fast-check';
import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { type ListingRow, listedBytes, type PagedListings } from '#storage/ports/listings';
import { refusalOf } from '#test/support/settled';

type Open = () => Promise<PagedListings>;
type Change = { readonly kind: 'put' | 'remove'; readonly id: string; readonly version: number };

/** Number of random orders of changes to test. Adapters with a network may test fewer. */
const RUNS = 200;

/**
 * Contract tests of the ListingStore port for every adapter. `open` returns an empty store. `suite`
 * may be a variant of uvu's `suite` that skips all tests.
 */
export function listingStoreContract(
  name: string,
  open: Open,
  runs = RUNS,
  suite = plainSuite,
): Test[] {
  return [listingOf(name, open, suite), orderOf(name, open, runs, suite)];
}

function listingOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const listing = suite(`a listing in ${name}`);

  loading(listing, open);
  changing(listing, open);
  return listing;
}

function loading(listing: Test, open: Open): void {
  listing('of an account without instances is empty', async () => {
    assert.equal(await (await open()).load('a'), []);
  });

  listing('has every row with every field', async () => {
    const store = await open();
    const rows = [rowOf('inst_1', 1), rowOf('inst_2', 4)];
    for (const row of rows) await store.put('a', row);
    assert.equal(sorted(await store.load('a')), rows);
  });

  listing('is returned in pages with every row, always in the same order', async () => {
    const store = await open();
    const rows = Array.from({ length: 100 }, (_, index) => rowOf(`inst_${index}`, 1));
    for (const row of rows) await store.put('a', row);
    await store.remove('a', 'inst_7', 2);
    const first = (await Array.fromAsync(store.pages('a'))).flat();
    const second = (await Array.fromAsync(store.pages('a'))).flat();
    assert.equal(sorted(first), sorted(rows.filter(({ instanceId }) => instanceId !== 'inst_7')));
    assert.equal(first, second);
    assert.equal(await Array.fromAsync(store.pages('b')), []);
  });

  listing('has every row without its description for a directory', async () => {
    const store = await open();
    await store.put('a', rowOf('inst_1', 1));
    await store.put('a', rowOf('inst_2', 1));
    await store.remove('a', 'inst_2', 2);
    const { description: _, ...listed } = rowOf('inst_1', 1);
    assert.equal(await store.listed('a'), [listed]);
  });

  listing('is refused for a directory as soon as it exceeds the memory limit', async () => {
    const store = await open();
    for (const id of ['inst_1', 'inst_2', 'inst_3']) await store.put('a', rowOf(id, 1));
    assert.is((await store.listed('a', 3 * listedBytes(rowOf('inst_1', 1)))).length, 3);
    const refusal = await refusalOf(() =>
      store.listed('a', 3 * listedBytes(rowOf('inst_1', 1)) - 1),
    );
    assert.equal(
      [(refusal as Fault).code, (refusal as Fault).reason],
      ['service_unavailable', 'overloaded'],
    );
  });

  listing('is separate per account', async () => {
    const store = await open();
    await store.put('a', rowOf('inst_1', 1));
    await store.put('b', rowOf('inst_1', 2));
    await store.remove('b', 'inst_1', 3);
    assert.equal(await store.load('a'), [rowOf('inst_1', 1)]);
    assert.equal(await store.load('b'), []);
  });
}

function changing(listing: Test, open: Open): void {
  listing('has one row per instance, with the highest version', async () => {
    const store = await open();
    for (const version of [2, 5, 3, 5]) await store.put('a', rowOf('inst_1', version));
    assert.equal(await store.load('a'), [rowOf('inst_1', 5)]);
  });

  listing('does not contain a removed row, even if the put arrives late', async () => {
    const store = await open();
    await store.remove('a', 'inst_1', 5);
    for (const version of [1, 4]) await store.put('a', rowOf('inst_1', version));
    await store.remove('a', 'inst_1', 5);
    assert.equal(await store.load('a'), []);
  });

  listing('keeps a row that is newer than a late removal', async () => {
    const store = await open();
    await store.put('a', rowOf('inst_1', 5));
    await store.remove('a', 'inst_1', 4);
    assert.equal(await store.load('a'), [rowOf('inst_1', 5)]);
  });

  listing('contains the row of an instance until its removal', async () => {
    const store = await open();
    assert.is(await store.find('a', 'inst_1'), undefined);
    for (const version of [2, 1]) await store.put('a', rowOf('inst_1', version));
    assert.equal(await store.find('a', 'inst_1'), rowOf('inst_1', 2));
    assert.is(await store.find('b', 'inst_1'), undefined);
    await store.remove('a', 'inst_1', 3);
    assert.is(await store.find('a', 'inst_1'), undefined);
  });

  listing('is a copy, so that a loaded list may be changed', async () => {
    const store = await open();
    await store.put('a', rowOf('inst_1', 1));
    (await store.load('a')).pop();
    assert.is((await store.load('a')).length, 1);
  });
}

function orderOf(name: string, open: Open, numRuns: number, suite: typeof plainSuite): Test {
  const order = suite(`changes of a listing in ${name}`);

  order('give the same result in any order and number of repetitions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (gen) => {
        const changes = gen(arbitraryChanges);
        const times = gen(() => fc.array(fc.integer({ min: 0, max: changes.length - 1 })));
        const again = times.map((index) => changes[index]).filter((one) => one !== undefined);
        const all = [...changes, ...again];
        const shuffled = gen(() => fc.shuffledSubarray(all, { minLength: all.length }));
        assert.equal(await loadedAfter(shuffled), expectedAfter(changes));
      }),
      // Without shrinking: shrinking takes minutes, and hardly shortens the list of changes.
      { numRuns, endOnFailure: true },
    );
  });

  async function loadedAfter(changes: readonly Change[]): Promise<ListingRow[]> {
    const store = await open();
    for (const { kind, id, version } of changes) {
      if (kind === 'put') await store.put('a', rowOf(id, version));
      else await store.remove('a', id, version);
    }
    return sorted(await store.load('a'));
  }

  return order;
}

/** Random changes of a few instances, one change per version. */
function arbitraryChanges(): fc.Arbitrary<Change[]> {
  const change = fc.record({
    kind: fc.constantFrom('put' as const, 'remove' as const),
    id: fc.constantFrom('inst_1', 'inst_2', 'inst_3'),
    version: fc.integer({ min: 1, max: 6 }),
  });
  const selector = ({ id, version }: Change) => `${id} ${version}`;
  return fc.uniqueArray(change, { selector, minLength: 1, maxLength: 12 });
}

/** Rows of the highest version of every instance. */
function expectedAfter(changes: readonly Change[]): ListingRow[] {
  const last = new Map<string, Change>();
  for (const change of changes) {
    if (change.version > (last.get(change.id)?.version ?? 0)) last.set(change.id, change);
  }
  const kept = [...last.values()].filter(({ kind }) => kind === 'put');
  return sorted(kept.map(({ id, version }) => rowOf(id, version)));
}

function rowOf(instanceId: string, version: number): ListingRow {
  const texts = { name: `name ${version}`, description: `in "quotes" ${version}` };
  return { instanceId, version, ...texts, createdAtMs: 1_768_478_400_000 };
}

function sorted(rows: readonly ListingRow[]): ListingRow[] {
  return rows.toSorted((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
}
