import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { APPEND_RETRY_MS } from '#node/bounds';
import { Fenced } from '#node/journal-writer';
import { encodeGroup } from '#runtime/record-codec';
import type { Conditional } from '#storage/journal-store';
import { newScene, seen, silence } from '#test/node/journal-writer-fixture';
import { lineOf } from '#test/runtime/journal-records';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

const applied = suite('a journal writer whose appends are applied');

applied('takes slot after slot', async () => {
  const { writer, stored, appends, appended, headNow } = await newScene();
  await writer.append([lineOf()], 0);
  await writer.append([], 0);
  assert.equal(
    appends.map(({ slot, lowWaterMark }) => [slot, lowWaterMark]),
    [
      [0, undefined],
      [1, undefined],
    ],
  );
  const slots = await stored.readSlots('me', 0, 9);
  assert.equal(new Uint8Array(slots[0]?.records ?? []), new Uint8Array(encodeGroup([lineOf()])));
  assert.is((await headNow())?.next, 2);
  assert.equal(appended, [1, 0]);
});

const doubtful = suite('a journal writer whose append is not applied');

for (const isSealed of [false, true]) {
  doubtful(`goes on when next is one further${isSealed ? ', though sealed' : ''}`, async () => {
    const { writer, twists, fences, appends } = await newScene();
    twists.push(async (apply) => {
      await apply();
      return seen({ next: 1, isSealed });
    });
    await writer.append([lineOf()], 0);
    assert.equal([fences.length, appends.length], [0, 1]);
  });
}

const ends: [string, Conditional, string][] = [
  ['it is sealed', seen({ next: 0, isSealed: true }), 'is sealed (slot 0, next 0)'],
  ['next is two further', seen({ next: 2 }), 'has moved on (slot 0, next 2)'],
  ['next stands where it was', seen({ next: 0 }), 'has moved on (slot 0, next 0)'],
  ['nothing comes back', seen(undefined), 'is gone (slot 0, next ?)'],
];
for (const [circumstance, answer, found] of ends) {
  doubtful(`is fenced when ${circumstance}, and sends nothing more`, async () => {
    const { writer, twists, fences, appends } = await newScene();
    twists.push(async () => answer);
    const first = await refusalOf(() => writer.append([lineOf()], 0));
    assert.instance(first, Fenced);
    assert.equal([first.name, first.message], ['Fenced', `the journal ${found}`]);
    assert.is(await refusalOf(() => writer.append([lineOf()], 0)), first);
    assert.equal([fences.length, appends.length], [1, 1]);
  });
}

const unknown = suite('a journal writer whose append has no answer');

unknown('goes on when it was applied', async () => {
  const { writer, twists, appends, clock } = await newScene();
  twists.push(async (apply) => {
    await apply();
    return silence();
  });
  const appended = writer.append([lineOf()], 0);
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(appends.length, 1);
});

unknown('sends the same bytes again, after a pause, when it was not', async () => {
  const { writer, twists, appends, clock, headNow } = await newScene();
  twists.push(async () => silence());
  const appended = writer.append([lineOf()], 0);
  await turnOfEvents();
  assert.is(appends.length, 1);
  assert.is(await stateOf(appended), 'pending');
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(appends.length, 2);
  assert.equal(appends[0], appends[1]);
  assert.is((await headNow())?.next, 1);
});

unknown('is not misled by the first try that executes before the second', async () => {
  const { writer, twists, stored, clock, fences, headNow } = await newScene();
  let late: (() => Promise<Conditional>) | undefined;
  twists.push(async (apply) => {
    late = apply;
    return silence();
  });
  twists.push(async (apply) => {
    await late?.();
    return await apply();
  });
  const appended = writer.append([lineOf()], 0);
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(fences.length, 0);
  assert.is((await headNow())?.next, 1);
  assert.is((await stored.readSlots('me', 0, 9)).length, 1);
});

unknown('asks for the head until it is answered', async () => {
  const { writer, twists, reads, appends, clock } = await newScene();
  twists.push(async (apply) => {
    await apply();
    return silence();
  });
  reads.push(
    async () => silence(),
    async () => silence(),
  );
  const appended = writer.append([lineOf()], 0);
  await pass(clock, APPEND_RETRY_MS);
  assert.is(await stateOf(appended), 'pending');
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(appends.length, 1);
});

unknown('is fenced when it was sealed before, but not when after', async () => {
  for (const isApplied of [false, true]) {
    const { writer, twists, stored, fences, clock, appends } = await newScene();
    twists.push(async (apply) => {
      if (isApplied) await apply();
      await stored.seal('me');
      return silence();
    });
    const ended = stateOf(writer.append([lineOf()], 0));
    await pass(clock, APPEND_RETRY_MS);
    assert.is('value' in Object(await ended), isApplied);
    assert.equal([fences.length, appends.length], [isApplied ? 0 : 1, 1]);
  }
});

unknown('is fenced when its journal is gone', async () => {
  const { writer, twists, reads, fences } = await newScene();
  twists.push(async () => silence());
  reads.push(async () => undefined);
  assert.instance(await refusalOf(() => writer.append([lineOf()], 0)), Fenced);
  assert.is(fences.length, 1);
});

unknown('ends at once when it is fenced from outside', async () => {
  const { writer, twists, reads, clock, appends } = await newScene();
  twists.push(async () => silence());
  for (let i = 0; i < 50; i += 1) reads.push(async () => silence());
  const refused = refusalOf(() => writer.append([lineOf()], 0));
  await turnOfEvents();
  writer.fence('taken');
  await pass(clock, APPEND_RETRY_MS);
  assert.is(reads.length, 49);
  assert.instance(await refused, Fenced);
  assert.is(appends.length, 1);
});

const ended = suite('a journal writer that is fenced from outside');

ended('sends nothing, and says once why: the first time', async () => {
  const { writer, fences, appends } = await newScene();
  writer.fence('taken');
  writer.fence('again');
  const refusal = await refusalOf(() => writer.append([lineOf()], 0));
  assert.is(refusal.message, 'taken');
  assert.equal([fences, appends], [[refusal], []]);
});

const refused = suite('a journal writer whose append is refused for good');

refused('is fenced', async () => {
  const { writer, twists, fences, appends } = await newScene();
  twists.push(async () => {
    throw new Fault('internal', 'too large');
  });
  const refusal = (await refusalOf(() => writer.append([lineOf()], 0))) as Fault;
  assert.is(refusal.code, 'service_unavailable');
  assert.equal([fences.length, appends.length], [1, 1]);
});

const slow = suite('the longest append of a journal writer');

slow('is reported with its records, in seconds', async () => {
  const { writer, twists, clock, tookS } = await newScene();
  clock.advance(5_000);
  twists.push(async (apply) => {
    clock.advance(500);
    return await apply();
  });
  await writer.append([lineOf()], 0);
  assert.equal(tookS, [0.5]);
});

slow('counts one under way, one that has ended, and is asked for once', async () => {
  const { writer, twists, clock } = await newScene();
  assert.is(writer.takeSlowestMs(), 0);
  const held = Promise.withResolvers<void>();
  twists.push(async (apply) => {
    await held.promise;
    return await apply();
  });
  const appended = writer.append([], 0);
  clock.advance(700);
  assert.is(writer.takeSlowestMs(), 700);
  clock.advance(300);
  held.resolve();
  await appended;
  assert.is(writer.takeSlowestMs(), 1_000);
  assert.is(writer.takeSlowestMs(), 0);
});

slow('is infinite when a try had no answer', async () => {
  const { writer, twists, clock } = await newScene();
  twists.push(async () => silence());
  const appended = writer.append([], 0);
  await pass(clock, APPEND_RETRY_MS);
  await appended;
  assert.is(writer.takeSlowestMs(), Number.POSITIVE_INFINITY);
});

for (const group of [applied, doubtful, unknown, ended, refused, slow]) group.run();
