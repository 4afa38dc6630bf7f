import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { JournalWriter } from '#node/journal-writer';
import type { Append, Conditional, JournalHead } from '#storage/journal-store';
import { memoryJournalStore } from '#test/storage/memory-journal-store';
import { ManualClock } from '#test/support/manual-clock';

/** What the store does with an append instead; `apply` is what it would have done. */
type Twist = (apply: () => Promise<Conditional>) => Promise<Conditional>;

/** A writer of the journal `me`, on a store that a test may twist. */
export async function newScene() {
  const clock = new ManualClock();
  const stored = memoryJournalStore(clock);
  await stored.begin('me', '127.0.0.1:1');
  const appends: Append[] = [];
  const twists: Twist[] = [];
  const reads: (() => Promise<JournalHead | undefined>)[] = [];
  const fences: Error[] = [];
  const appended: number[] = [];
  const tookS: number[] = [];
  const store = {
    ...stored,
    async append(append: Append) {
      appends.push(append);
      const twist = twists.shift();
      return await (twist ?? ((apply) => apply()))(() => stored.append(append));
    },
    async readHead(incarnation: string, read: 'serial' | 'quorum') {
      assert.is(read, 'serial');
      return await (reads.shift() ?? (() => stored.readHead(incarnation, read)))();
    },
  };
  const writer = new JournalWriter('me', {
    store,
    clock,
    onAppended: (records, seconds) => {
      appended.push(records);
      tookS.push(seconds);
    },
  });
  writer.onFenced((why) => fences.push(why));
  const headNow = async () => await stored.readHead('me', 'serial');
  return { clock, stored, writer, appends, twists, reads, fences, appended, tookS, headNow };
}

/** No answer, as of a store that is out of reach. */
export const silence = (): never => {
  throw new Fault('service_unavailable', 'no answer', { isOutcomeUnknown: true });
};
/** An append that is not applied, for the head that is read. */
export const seen = (head: Partial<JournalHead> | undefined): Conditional => ({
  isApplied: false,
  head: head && { address: '127.0.0.1:1', next: 0, lowWaterMark: 0, isSealed: false, ...head },
});
