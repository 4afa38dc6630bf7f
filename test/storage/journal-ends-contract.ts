import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#platform/clock';
import type { Conditional } from '#storage/journal-store';
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

  sealing('refuses every append from then on, and shows that it is sealed', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.seal(incarnation);
    const head = { address: ADDRESS, next: 2, lowWaterMark: 0, isSealed: true };
    for (const slot of [0, 1, 2, 3]) {
      const refused = await store.append(appendOf(incarnation, slot));
      assert.equal(refused, { isApplied: false, head });
    }
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [0, 1]);
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
  const racing = suite(`several writers at one journal in ${name}`);

  racing('exactly one of them gets a slot, and its bytes are there', async () => {
    const { store, incarnation } = await begun(open);
    for (let slot = 0; slot < 5; slot += 1) {
      const writers = [1, 2, 3, 4];
      const outcomes = await Promise.all(
        writers.map((writer) =>
          outcomeOf(store.append(appendOf(incarnation, slot, Uint8Array.of(writer)))),
        ),
      );
      const applied = outcomes.filter((outcome) => outcome === 'applied').length;
      const unknown = outcomes.filter((outcome) => outcome === 'unknown').length;
      assert.ok(applied <= 1 && applied + unknown >= 1, outcomes.join());
      assert.is((await store.readHead(incarnation, 'serial'))?.next, slot + 1);
      const [{ records } = { records: undefined }] = await store.readSlots(
        incarnation,
        slot,
        slot + 1,
      );
      const winner = outcomes[(records?.[0] ?? 0) - 1];
      assert.ok(winner === 'applied' || (applied === 0 && winner === 'unknown'), `${winner}`);
    }
  });

  racing('exactly one of them seals', async () => {
    const { store, incarnation } = await begun(open);
    const sealings = [1, 2, 3, 4].map(() => outcomeOf(store.seal(incarnation)));
    const outcomes = await Promise.all(sealings);
    const applied = outcomes.filter((outcome) => outcome === 'applied').length;
    assert.ok(applied === 1 || (applied === 0 && outcomes.includes('unknown')), outcomes.join());
    assert.ok((await store.readHead(incarnation, 'serial'))?.isSealed);
  });

  racing('a seal lets an append through before it or not at all', async () => {
    const { store, incarnation } = await begun(open);
    const appends = (async () => {
      for (let slot = 0; slot < RACING_APPENDS_MAX; slot += 1) {
        const outcome = await outcomeOf(store.append(appendOf(incarnation, slot)));
        if (outcome !== 'applied') return { slot, outcome };
      }
      throw new Error('nothing stops the appends');
    })();
    while ((await outcomeOf(store.seal(incarnation))) === 'unknown');
    const head = await store.readHead(incarnation, 'serial');
    const tail = await slotsOf(store, incarnation);
    const last = await appends;
    assert.ok(last.outcome === 'refused' ? head?.next === last.slot : true);
    assert.equal(await store.readHead(incarnation, 'serial'), head);
    assert.equal(await slotsOf(store, incarnation), tail);
    assert.is(tail.length, head?.next);
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
    assert.equal(await store.append(appendOf(incarnation, 2)), APPLIED);
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
    for (const slot of [0, 1, 2, 3]) {
      assert.equal(await store.append(appendOf(incarnation, slot)), refused);
    }
    assert.equal(await store.seal(incarnation), refused);
    assert.equal(await slotsOf(store, incarnation), []);
  });

  // No node does it, because an incarnation id is never used again; but a birth that timed out may
  // come this late. It then stands for a journal that its owner knows nothing of and that the
  // daily scan seals.
  emptying('makes it as if it had never been: a late birth begins it at slot 0', async () => {
    const { store, incarnation } = await begun(open);
    await appendMany(store, incarnation, 2);
    await store.seal(incarnation);
    await store.empty(incarnation);
    assert.equal(await store.begin(incarnation, ADDRESS), APPLIED);
    assert.equal(await slotsOf(store, incarnation), []);
    assert.equal(await store.append(appendOf(incarnation, 0)), APPLIED);
    assert.equal(slotNumbers(await slotsOf(store, incarnation)), [0]);
  });
  return emptying;
}
