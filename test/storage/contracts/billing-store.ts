import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { BillingRecord, BillingStore } from '#storage/ports/billing';

type Open = () => Promise<BillingStore>;

/** Billing record with these customers and every optional field. */
function recordWith(...customers: string[]): BillingRecord {
  const monthEndMs = 1_769_904_000_000;
  const terms = { plan: 'pro', status: 'active', periodEndsAtMs: monthEndMs } as const;
  const named = { eventId: 'evt_1', atMs: 1_767_225_600_000 };
  const line = { plan: 'pro', fromMs: 7, throughMs: 8, isCredit: true } as const;
  const invoiceId = 'in_1';
  return {
    customers: customers.map((id, at) => ({ id, atMs: 9 - at })),
    subscriptions: [
      { id: 'sub_1', facts: [] },
      {
        id: 'sub_2',
        facts: [
          {
            ...{ kind: 'description', ...named, ...terms, change: 'updated', before: terms },
            ...{ endsAtMs: monthEndMs, isPaused: true, isInvoiced: true, invoiceId },
          },
          { kind: 'invoice', ...named, invoiceId, outcome: 'paid', lines: [line] },
        ],
      },
    ],
    returns: [{ ...named, invoiceId, outcome: 'taken' }],
  };
}

/** Contract tests of the BillingStore port for every adapter. */
export function billingStoreContract(name: string, open: Open, suite = plainSuite): Test {
  const billing = suite(`billing in ${name}`);
  records(billing, open);
  customers(billing, open);
  return billing;
}

function records(billing: Test, open: Open): void {
  billing('is absent for an account without purchases', async () => {
    const store = await open();
    assert.is(await store.find('a'), undefined);
    await store.erase('a');
  });

  billing('is found by account, as stored', async () => {
    const store = await open();
    const record = recordWith('c1');
    assert.is(await store.put('a', 0, record), true);
    assert.equal(await store.find('a'), { record, revision: 1 });
    assert.is(await store.find('b'), undefined);
  });

  billing('changes only if it is unchanged since its read (compare-and-set)', async () => {
    const store = await open();
    assert.is(await store.put('a', 1, recordWith('c1')), false, 'there is no record of revision 1');
    await store.put('a', 0, recordWith('c1'));
    assert.is(await store.put('a', 0, recordWith('c2')), false);
    assert.is(await store.put('a', 1, recordWith('c3', 'c1')), true);
    assert.is(await store.put('a', 1, recordWith('c4')), false);
    assert.equal(await store.find('a'), { record: recordWith('c3', 'c1'), revision: 2 });
  });

  billing('changes once for concurrent attempts', async () => {
    const store = await open();
    const attempts = ['c1', 'c2', 'c3'].map((id) => store.put('a', 0, recordWith(id)));
    assert.is((await Promise.all(attempts)).filter(Boolean).length, 1);
  });

  billing('is a copy: changes by a reader have no effect on the store', async () => {
    const store = await open();
    const mine = structuredClone(recordWith('c1'));
    await store.put('a', 0, mine);
    Object.assign(mine, { customers: [] });
    Object.assign((await store.find('a'))?.record ?? {}, { subscriptions: [] });
    assert.equal((await store.find('a'))?.record, recordWith('c1'));
  });
}

function customers(billing: Test, open: Open): void {
  billing('maps every customer to one account, a shared customer to the first', async () => {
    const store = await open();
    assert.is(await store.accountOf('c1'), undefined);
    await store.put('a', 0, recordWith('c1', 'c2'));
    await store.put('b', 0, recordWith('c2', 'c3'));
    const owners = await Promise.all(['c1', 'c2', 'c3'].map((id) => store.accountOf(id)));
    assert.equal(owners, ['a', 'a', 'b']);
  });

  billing('is deleted with its customers when erased, and other records stay', async () => {
    const store = await open();
    await store.put('a', 0, recordWith('c1', 'c2'));
    await store.put('b', 0, recordWith('c2', 'c3'));
    await store.erase('b');
    assert.equal([await store.find('b'), await store.accountOf('c3')], [undefined, undefined]);
    assert.is(await store.accountOf('c2'), 'a', 'the customer never belonged to b');
    for (let times = 0; times < 2; times += 1) await store.erase('a');
    assert.equal([await store.find('a'), await store.accountOf('c1')], [undefined, undefined]);
    assert.is(await store.put('b', 0, recordWith('c1')), true);
    assert.is(await store.accountOf('c1'), 'b');
  });
}
