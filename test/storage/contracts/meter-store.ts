import fc from 'fast-check';
import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ErasableMeters, MeterHead } from '#storage/ports/meters';
import { meterAt, monthAt, reservations, storeMeter } from '#test/storage/contracts/meter-records';

type Open = () => Promise<ErasableMeters>;

/** Number of random orders of writes to test. Adapters with a network may test fewer. */
const RUNS = 200;

/**
 * Contract tests of the MeterStore port for every adapter. `open` returns an empty store. `suite`
 * may be a variant of uvu's `suite` that skips all tests.
 */
export function meterStoreContract(
  name: string,
  open: Open,
  numRuns = RUNS,
  suite = plainSuite,
): Test {
  const heads = suite(`meters in ${name}`);
  comingBack(heads, open, numRuns);
  standingApart(heads, open);
  beingOver(heads, open);
  return heads;
}

function comingBack(heads: Test, open: Open, numRuns: number): void {
  heads('of unknown accounts are undefined', async () => {
    assert.is(await (await open()).readHead('a'), undefined);
  });

  heads('are returned with every field, reservations in order', async () => {
    const store = await open();
    for (const [index, count] of [0, 1, 2_048].entries()) {
      const head = meterAt(index + 1, { reservations: reservations(count) });
      await storeMeter(store, 'a', head);
      assert.equal(await store.readHead('a'), head);
    }
  });

  heads('may have only counts of 0', async () => {
    const store = await open();
    const nothing = {
      monthWatermark: 0,
      cyclesUsed: 0,
      cyclesExpired: 0,
      cyclesLost: 0,
      windowWatermark: 0,
    };
    const head = meterAt(1, { ...nothing, monthEndsAtMs: 0, windowEndsAtMs: 0 });
    await storeMeter(store, 'a', head);
    assert.equal(await store.readHead('a'), head);
  });

  heads(
    'have the highest version, whatever the order of the writes and the number of repetitions',
    async () => {
      const versions = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
      const property = fc.asyncProperty(versions, async (order) => {
        const store = await open();
        for (const [index, version] of order.entries()) {
          await storeMeter(store, 'a', meterAt(version));
          const highest = Math.max(...order.slice(0, index + 1));
          assert.equal(await store.readHead('a'), meterAt(highest), `stored as ${order}`);
        }
      });
      await fc.assert(property, { numRuns, endOnFailure: true });
    },
  );
}

function beingOver(heads: Test, open: Open): void {
  const headOf = (version: number, months: readonly number[], cycles?: number) =>
    meterAt(version, { finished: months.map((month) => monthAt(month, cycles)) });

  heads('include finished months, which are stored separately, newest first', async () => {
    const store = await open();
    assert.equal(await store.readMonths('a'), []);
    await storeMeter(store, 'a', headOf(1, [3]));
    await storeMeter(store, 'a', meterAt(2));
    await storeMeter(store, 'a', headOf(3, [4, 5]));
    await storeMeter(store, 'b', headOf(1, [9]));
    assert.equal(await store.readMonths('a'), [monthAt(5), monthAt(4), monthAt(3)]);
    assert.equal(await store.readMonths('b'), [monthAt(9)]);
  });

  heads('keep a month of the highest version, whatever the order of the writes', async () => {
    const store = await open();
    for (const [version, cycles] of [
      [4, 40],
      [6, 60],
      [4, 40],
      [5, 50],
    ] as const) {
      await storeMeter(store, 'a', headOf(version, [3], cycles));
    }
    assert.equal(await store.readMonths('a'), [monthAt(3, 60)]);
  });

  heads('keep the newest twelve months', async () => {
    const store = await open();
    for (let month = 0; month < 14; month += 1) {
      await storeMeter(store, 'a', headOf(month + 1, [month]));
    }
    const newest = Array.from({ length: 12 }, (_, index) => monthAt(13 - index));
    assert.equal(await store.readMonths('a'), newest);
  });

  heads('lose their months when erased, despite late writes', async () => {
    const store = await open();
    await storeMeter(store, 'a', headOf(4, [3]));
    await store.erase('a');
    await storeMeter(store, 'a', headOf(5, [3, 4]));
    assert.equal(await store.readMonths('a'), []);
  });
}

function standingApart(heads: Test, open: Open): void {
  heads('stay erased, despite late writes', async () => {
    const store = await open();
    for (const id of ['a', 'b']) await storeMeter(store, id, meterAt(4));
    for (let times = 0; times < 2; times += 1) await store.erase('a');
    for (const version of [4, 5, 1_000]) await storeMeter(store, 'a', meterAt(version));
    assert.is(await store.readHead('a'), undefined);
    assert.equal(await store.readHead('b'), meterAt(4));
    await store.erase('never stored');
  });

  heads('lose the reservations of a closing record once a newer record is stored', async () => {
    const store = await open();
    const closing = meterAt(4, { reservations: reservations(3) });
    for (const head of [closing, meterAt(5), closing]) await storeMeter(store, 'a', head);
    assert.equal(await store.readHead('a'), meterAt(5));
  });

  heads('of many accounts are stored concurrently without interference', async () => {
    const store = await open();
    const accounts = Array.from({ length: 20 }, (_, index) => ({
      id: `a${index}`,
      top: index + 1,
    }));
    const writes = accounts.flatMap(({ id, top }) =>
      [top, top + 30, top + 7].map((version) => storeMeter(store, id, meterAt(version))),
    );
    await Promise.all(writes);
    const found = await Promise.all(accounts.map(({ id }) => store.readHead(id)));
    assert.equal(
      found,
      accounts.map(({ top }) => meterAt(top + 30)),
    );
  });

  heads('of many accounts stored in one call have their highest versions', async () => {
    const store = await open();
    const versions = [3, 1, 2];
    await storeMeter(store, 'a4', meterAt(9));
    await store.checkpoint(
      versions.flatMap((version) =>
        Array.from({ length: 20 }, (_, index) => ({
          accountId: `a${index}`,
          head: meterAt(version),
        })),
      ),
    );
    for (let index = 0; index < 20; index += 1) {
      const version = index === 4 ? 9 : 3;
      assert.equal(await store.readHead(`a${index}`), meterAt(version));
    }
  });

  heads('are copies: a caller may change its input and output', async () => {
    const store = await open();
    const head = { ...meterAt(2), reservations: reservations(2) };
    const spoil = (given: MeterHead | undefined) => {
      assert.ok(given);
      Object.assign(given, { monthWatermark: 0 });
      Object.assign(given.reservations[0] ?? {}, { cycles: 0 });
      (given.reservations as unknown[]).pop();
    };
    await storeMeter(store, 'a', head);
    spoil(head);
    spoil(await store.readHead('a'));
    assert.equal(await store.readHead('a'), meterAt(2, { reservations: reservations(2) }));
  });
}
