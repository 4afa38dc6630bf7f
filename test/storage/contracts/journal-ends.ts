import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import type { Conditional } from '#storage/ports/journal';
import {
  ADDRESS,
  APPLIED,
  appendMany,
  appendOf,
  begun,
  listed,
  outcomeOf,
  type JournalSubject as Subject,
  slotNumbers,
  slotsOf,
  truncating,
} from '#test/storage/contracts/journal-fixture';

/**
 * Maximum difference between the store's clock and the test's clock in the date of a seal, in
 * milliseconds.
 */
const SEAL_DATE_ERROR_MS_MAX = 2_000;

/**
 * Maximum number of appends before a concurrent seal, so that a faulty store does not exhaust
 * memory.
 */
const RACING_APPENDS_MAX = 1_000;

/** Contract tests for seals, concurrent sealers and emptying. */
export function journalEnds(subject: Subject): Test[] {
  return [sealing(subject), racing(subject), emptying(subject)];
}

function sealing({ name, open, suite }: Subject): Test {
  const sealing = suite(`sealing a journal in ${name}`);

  sealing('happens once, and may be repeated without effect', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    const head = { address: ADDRESS, next: 2, lowWaterMark: 0, isSealed: true };
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.equal(await store.seal(incarnation), { isApplied: false, head });
    assert.equal(await store.seal(incarnation), { isApplied: false, head });
    assert.equal(await store.readHead(incarnation, 'quorum'), head);
  });

  sealing('is seen by every later check, and fixes the end permanently', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    assert.not(await store.isSealed(incarnation));
    await store.seal(incarnation);
    assert.ok(await store.isSealed(incarnation));
    // A write in flight still arrives, after the end.
    for (const slot of [2, 3]) await store.append(appendOf(incarnation, slot));
    const head = { address: ADDRESS, next: 2, lowWaterMark: 0, isSealed: true };
    assert.equal(await store.seal(incarnation), { isApplied: false, head });
    assert.equal(await store.readHead(incarnation, 'quorum'), head);
  });

  sealing('sets the end before the first gap, above which nothing was acknowledged', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 20);
    for (const slot of [21, 22]) await store.append(appendOf(incarnation, slot));
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 20);
  });

  sealing('does not count deleted slots as a gap', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 5);
    await store.append(truncating(appendOf(incarnation, 5), 4));
    assert.equal(await store.seal(incarnation), APPLIED);
    const head = { address: ADDRESS, next: 6, lowWaterMark: 4, isSealed: true };
    assert.equal(await store.readHead(incarnation, 'serial'), head);
  });

  sealing('sets the end of a journal without slots to 0', async () => {
    const { store, incarnation } = await begun(open);
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 0);
  });

  sealing('adds its date to the list entry of the journal', async () => {
    const { store, incarnation } = await begun(open);
    assert.equal(await listed(store, incarnation), { incarnation, sealedAtMs: undefined });
    await store.append(appendOf(incarnation, 0));
    assert.equal(await listed(store, incarnation), { incarnation, sealedAtMs: undefined });
    const beforeMs = systemClock.wallMs();
    await store.seal(incarnation);
    const afterMs = systemClock.wallMs();
    const first = await listed(store, incarnation);
    const sealedAtMs = first?.sealedAtMs ?? 0;
    assert.ok(sealedAtMs >= beforeMs - SEAL_DATE_ERROR_MS_MAX, `${sealedAtMs} is too early`);
    assert.ok(sealedAtMs <= afterMs + SEAL_DATE_ERROR_MS_MAX, `${sealedAtMs} is too late`);
    await store.seal(incarnation);
    await store.append(appendOf(incarnation, 1));
    assert.equal(await listed(store, incarnation), first);
  });
  return sealing;
}

function racing({ name, open, suite }: Subject): Test {
  const racing = suite(`when several sealers seal one journal in ${name}`);

  racing('exactly one of them decides the end', async () => {
    const { store, incarnation } = await begun(open);
    const sealings = [1, 2, 3, 4].map(() => outcomeOf(store.seal(incarnation)));
    const outcomes = await Promise.all(sealings);
    const applied = outcomes.filter((outcome) => outcome === 'applied').length;
    assert.ok(applied === 1 || (applied === 0 && outcomes.includes('unknown')), outcomes.join());
    assert.ok((await store.readHead(incarnation, 'serial'))?.isSealed);
  });

  racing('records acknowledged before the seal are below the end, and stay', async () => {
    const { store, incarnation } = await begun(open);
    const acknowledged = (async () => {
      for (let slot = 0; slot < RACING_APPENDS_MAX; slot += 1) {
        await store.append(appendOf(incarnation, slot));
        if (await store.isSealed(incarnation)) return slot;
      }
      throw new Error('no seal ended the appends');
    })();
    const sealings = [1, 2, 3].map(() => outcomeOf(store.seal(incarnation)));
    await Promise.all(sealings);
    while ((await outcomeOf(store.seal(incarnation))) === 'unknown');
    const head = await store.readHead(incarnation, 'serial');
    const count = await acknowledged;
    const end = head?.next ?? 0;
    assert.ok(end >= count && end <= count + 1, `${count} acknowledged, ended at ${end}`);
    assert.equal(await store.readHead(incarnation, 'serial'), head);
    assert.is((await store.readSlots(incarnation, 0, end)).length, end);
  });
  return racing;
}

function emptying({ name, open, suite }: Subject): Test {
  const emptying = suite(`emptying a journal in ${name}`);

  emptying('has no effect on an unsealed journal', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.empty(incarnation);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 2);
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [0, 1]);
    await store.append(appendOf(incarnation, 2));
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 3);
  });

  emptying('deletes a sealed journal with all slots, and may be repeated', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 3);
    await store.seal(incarnation);
    for (let time = 0; time < 2; time += 1) {
      await store.empty(incarnation);
      assert.is(await store.readHead(incarnation, 'serial'), undefined);
      assert.is(await store.readHead(incarnation, 'quorum'), undefined);
      assert.equal(await slotsOf(store, incarnation), []);
      assert.is(await listed(store, incarnation), undefined);
    }
  });

  emptying('leaves nothing that a late append or seal could restore', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.seal(incarnation);
    await store.empty(incarnation);
    const refused: Conditional = { isApplied: false, head: undefined };
    for (const slot of [0, 1, 2, 3]) await store.append(appendOf(incarnation, slot));
    assert.equal(await store.seal(incarnation), refused);
    assert.equal(await slotsOf(store, incarnation), []);
    assert.is(await listed(store, incarnation), undefined);
  });

  emptying(
    'keeps the seal, so that a writer that was suspended for days acknowledges nothing',
    async () => {
      const { store, incarnation } = await begun(open);
      await store.seal(incarnation);
      await store.empty(incarnation);
      assert.ok(await store.isSealed(incarnation));
    },
  );

  // No node begins an emptied journal, because incarnation ids are never reused. But a begin that
  // timed out may arrive this late. No node uses the journal of such a begin, and the daily scan
  // ends the journal.
  emptying('lets a late begin create an entry, sealed and without slots', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.seal(incarnation);
    await store.empty(incarnation);
    assert.equal(await store.begin(incarnation, ADDRESS), APPLIED);
    assert.equal(await slotsOf(store, incarnation), []);
    assert.ok((await store.readHead(incarnation, 'serial'))?.isSealed);
    assert.equal(await store.seal(incarnation), APPLIED);
  });
  return emptying;
}
