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
} from '#test/storage/journal-fixture';

/** How far the store's clock may be from ours when it dates a seal. Milliseconds. */
const SEAL_DATE_ERROR_MS_MAX = 2_000;

/** Appends that may get through before a seal does; without a bound a broken store would take all memory. */
const RACING_APPENDS_MAX = 1_000;

/** The part of the contract that is about seals, rivals and emptying. */
export function journalEnds(subject: Subject): Test[] {
  return [sealing(subject), racing(subject), emptying(subject)];
}

function sealing({ name, open, suite }: Subject): Test {
  const sealing = suite(`sealing a journal in ${name}`);

  sealing('happens once, and again does no harm', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    const head = { address: ADDRESS, next: 2, lowWaterMark: 0, isSealed: true };
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.equal(await store.seal(incarnation), { isApplied: false, head });
    assert.equal(await store.seal(incarnation), { isApplied: false, head });
    assert.equal(await store.readHead(incarnation, 'quorum'), head);
  });

  sealing('is seen by every look that begins later, and decides the end for good', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    assert.not(await store.isSealed(incarnation));
    await store.seal(incarnation);
    assert.ok(await store.isSealed(incarnation));
    // A write on its way comes all the same; it is beyond the end.
    for (const slot of [2, 3]) await store.append(appendOf(incarnation, slot));
    const head = { address: ADDRESS, next: 2, lowWaterMark: 0, isSealed: true };
    assert.equal(await store.seal(incarnation), { isApplied: false, head });
    assert.equal(await store.readHead(incarnation, 'quorum'), head);
  });

  sealing('ends before the first gap, above which nothing was acknowledged', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 20);
    for (const slot of [21, 22]) await store.append(appendOf(incarnation, slot));
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 20);
  });

  sealing('takes no deleted slot for a gap', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 5);
    await store.append(truncating(appendOf(incarnation, 5), 4));
    assert.equal(await store.seal(incarnation), APPLIED);
    const head = { address: ADDRESS, next: 6, lowWaterMark: 4, isSealed: true };
    assert.equal(await store.readHead(incarnation, 'serial'), head);
  });

  sealing('of a journal without a slot ends it at 0', async () => {
    const { store, incarnation } = await begun(open);
    assert.equal(await store.seal(incarnation), APPLIED);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 0);
  });

  sealing('is listed with its date; a journal in use has none', async () => {
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
  const racing = suite(`several sealers of one journal in ${name}`);

  racing('exactly one of them decides the end', async () => {
    const { store, incarnation } = await begun(open);
    const sealings = [1, 2, 3, 4].map(() => outcomeOf(store.seal(incarnation)));
    const outcomes = await Promise.all(sealings);
    const applied = outcomes.filter((outcome) => outcome === 'applied').length;
    assert.ok(applied === 1 || (applied === 0 && outcomes.includes('unknown')), outcomes.join());
    assert.ok((await store.readHead(incarnation, 'serial'))?.isSealed);
  });

  racing('what was acknowledged before a seal is below its end, and stays', async () => {
    const { store, incarnation } = await begun(open);
    const acknowledged = (async () => {
      for (let slot = 0; slot < RACING_APPENDS_MAX; slot += 1) {
        await store.append(appendOf(incarnation, slot));
        if (await store.isSealed(incarnation)) return slot;
      }
      throw new Error('nothing stops the appends');
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

  emptying('does nothing to one that is not sealed', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.empty(incarnation);
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 2);
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [0, 1]);
    await store.append(appendOf(incarnation, 2));
    assert.is((await store.readHead(incarnation, 'serial'))?.next, 3);
  });

  emptying('takes a sealed one away with all its slots, and again does no harm', async () => {
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

  emptying('leaves nothing that a late append or a late seal could revive', async () => {
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
    'leaves the seal, so that a writer suspended for days acknowledges nothing',
    async () => {
      const { store, incarnation } = await begun(open);
      await store.seal(incarnation);
      await store.empty(incarnation);
      assert.ok(await store.isSealed(incarnation));
    },
  );

  // No node does it, because an incarnation id is never used again; but a begin that timed out may
  // come this late. It then stands for a journal that its owner knows nothing of and that the
  // daily scan ends again.
  emptying('lets a late begin make an entry, sealed and without slots', async () => {
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
