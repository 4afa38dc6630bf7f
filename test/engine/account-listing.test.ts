import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountListing, type ListingPage } from '#engine/account-listing';
import type { ListedInstance } from '#storage/listing-store';
import { liveHeapBytes } from '#test/support/garbage';

type Change =
  | { kind: 'put'; row: ListedInstance }
  | { kind: 'remove'; id: string; version: number };

const changes = suite('when an account’s instances change');

changes('the order of the changes makes no difference', () => {
  fc.assert(
    fc.property(fc.gen(), (gen) => {
      const history = gen(arbitraryChanges);
      const shuffled = gen(() => fc.shuffledSubarray(history, { minLength: history.length }));
      const late = gen(() => fc.subarray(history));
      assert.equal(contents(after([...shuffled, ...late])), contents(after(history)));
    }),
    { numRuns: 500 },
  );
});

changes('a removal is for good, whatever late change comes after it', () => {
  const listing = new AccountListing([]);
  listing.remove('inst_1', 7);
  listing.remove('inst_1', 5);
  listing.put(rowOf('inst_1', 6));
  assert.is(listing.total, 0);
  assert.not(listing.isBlank, 'or the removal would be forgotten');
});

changes('the bytes follow what is held', () => {
  const listing = new AccountListing([rowOf('inst_1', 1)]);
  const before = listing.bytes;
  listing.put({ ...rowOf('inst_1', 2), name: 'x'.repeat(1_000) });
  assert.ok(listing.bytes > before + 900);
  listing.put(rowOf('inst_1', 3));
  assert.is(listing.bytes, before);
  assert.ok(new AccountListing([]).isBlank);
});

changes('a listed instance takes at most 200 bytes, and about what is said', () => {
  const count = 50_000;
  const before = liveHeapBytes();
  const rows = Array.from({ length: count / 2 }, (_, n) => listedOf(n));
  const listing = new AccountListing(rows);
  rows.length = 0;
  for (let n = count / 2; n < count; n += 1) listing.put(listedOf(n));
  const bytes = (liveHeapBytes() - before) / count;
  assert.is(listing.total, count);
  assert.ok(bytes <= 200, `${bytes} bytes each`);
  assert.ok(
    Math.abs(listing.bytes / count - bytes) < bytes / 5,
    `${listing.bytes / count} of ${bytes}`,
  );
});

/** As the store gives it: every text its own. */
function listedOf(n: number): ListedInstance {
  const instanceId = Buffer.from(`inst_${n.toString(16).padStart(16, '0')}`).toString();
  const name = Buffer.from(`agent number ${n}`).toString();
  return { instanceId, version: 1, name, createdAtMs: 1_768_478_400_000 + n };
}

const pages = suite('when a page is asked for');

pages('it is that part of the whole order, both ways and by both fields', () => {
  const row = fc.record({
    instanceId: fc.integer({ min: 0, max: 99 }).map((n) => `inst_${n}`),
    name: fc.string({ unit: fc.constantFrom('a', 'B', 'é', '\uff5e', '\u{1f600}'), maxLength: 2 }),
    createdAtMs: fc.integer({ min: 0, max: 4 }),
  });
  const rows = fc.uniqueArray(row, { selector: ({ instanceId }) => instanceId, maxLength: 30 });
  const page = fc.record({
    limit: fc.integer({ min: 1, max: 12 }),
    offset: fc.integer({ min: 0, max: 35 }),
    sort: fc.constantFrom('created_at' as const, 'name' as const),
    order: fc.constantFrom('asc' as const, 'desc' as const),
  });
  fc.assert(
    fc.property(rows, page, (some, wanted) => {
      const all = some.map((one) => ({ ...rowOf(one.instanceId, 1), ...one }));
      const listing = new AccountListing([]);
      for (const one of all) listing.put(one);
      const { limit, offset } = wanted;
      const expected = all.sort(plainOrder(wanted)).slice(offset, offset + limit);
      assert.equal(listing.page(wanted), expected);
      assert.equal(new AccountListing(all).page(wanted), expected);
    }),
    { numRuns: 500 },
  );
});

pages('a rename moves the instance in one order and not in the other', () => {
  const listing = new AccountListing(['inst_1', 'inst_2', 'inst_3'].map((id) => rowOf(id, 1)));
  listing.put({ ...rowOf('inst_1', 2), name: 'zz' });
  const ids = (sort: ListingPage['sort']) =>
    listing.page({ limit: 9, offset: 0, sort, order: 'asc' }).map(({ instanceId }) => instanceId);
  assert.equal(ids('name'), ['inst_2', 'inst_3', 'inst_1']);
  assert.equal(ids('created_at'), ['inst_1', 'inst_2', 'inst_3']);
});

/** Changes of a few instances in the order of their versions; an instance has one per version. */
function arbitraryChanges(): fc.Arbitrary<Change[]> {
  const change = fc.record({
    id: fc.constantFrom('inst_1', 'inst_2'),
    version: fc.integer({ min: 1, max: 6 }),
    isRemoval: fc.boolean(),
  });
  return fc
    .uniqueArray(change, { selector: ({ id, version }) => `${id} ${version}`, maxLength: 10 })
    .map((list) =>
      list
        .sort((a, b) => a.version - b.version)
        .map(({ id, version, isRemoval }) =>
          isRemoval ? { kind: 'remove', id, version } : { kind: 'put', row: rowOf(id, version) },
        ),
    );
}

function after(history: readonly Change[]): AccountListing {
  const listing = new AccountListing([]);
  for (const change of history) {
    if (change.kind === 'put') listing.put(change.row);
    else listing.remove(change.id, change.version);
  }
  return listing;
}

function contents(listing: AccountListing) {
  const page = { limit: 99, offset: 0, sort: 'created_at', order: 'asc' } as const;
  return { total: listing.total, rows: listing.page(page) };
}

function rowOf(instanceId: string, version: number): ListedInstance {
  return { instanceId, version, name: `name ${version}`, createdAtMs: 5 };
}

/** Decision 40, written down once more. */
function plainOrder({
  sort,
  order,
}: ListingPage): (a: ListedInstance, b: ListedInstance) => number {
  const points = (name: string) =>
    Array.from(name, (letter) => (letter.codePointAt(0) ?? 0).toString().padStart(8, '0')).join();
  const keyOf = ({ name, createdAtMs, instanceId }: ListedInstance) => {
    const creation = `${createdAtMs} ${instanceId}`;
    return sort === 'name' ? `${points(name)} ${creation}` : creation;
  };
  const sign = order === 'asc' ? 1 : -1;
  return (a, b) => sign * (keyOf(a) < keyOf(b) ? -1 : 1);
}

for (const group of [changes, pages]) group.run();
