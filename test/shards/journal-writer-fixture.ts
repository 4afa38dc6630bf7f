import { Fault } from '#errors/fault';
import { JournalWriter } from '#shards/journal-writer';
import type { Append } from '#storage/ports/journal';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { ManualClock } from '#test/support/manual-clock';
import { noteLogger, SILENT } from '#test/support/test-logger';

/**
 * Replaces the store's reaction to an append or a read of the seal. `apply` is the real reaction.
 */
type Twist<Answer> = (apply: () => Promise<Answer>) => Promise<Answer>;

/** Ports whose events are ignored. */
export const UNNOTICED_APPENDS = { onAppended: () => undefined, logger: SILENT };

/** A writer of the journal `me`, on a store whose answers a test may replace. */
export async function newScene({ isOnlyWriter = false } = {}) {
  const clock = new ManualClock();
  const stored = memoryJournalStore(clock);
  await stored.begin('me', '127.0.0.1:1');
  const appends: Append[] = [];
  /** Calls to the store, in order: `write 0`, `look`. */
  const asked: string[] = [];
  const twists: Twist<void>[] = [];
  const looks: Twist<boolean>[] = [];
  const fences: Error[] = [];
  const appended: number[] = [];
  const tookS: number[] = [];
  const notices: string[] = [];
  const store = {
    async append(append: Append) {
      appends.push(append);
      asked.push(`write ${append.slot}`);
      const twist = twists.shift();
      await (twist ?? ((apply) => apply()))(() => stored.append(append));
    },
    async isSealed(incarnation: string) {
      asked.push('look');
      const twist = looks.shift();
      return await (twist ?? ((apply) => apply()))(() => stored.isSealed(incarnation));
    },
  };
  const writer = new JournalWriter('me', {
    store,
    clock,
    isOnlyWriter,
    logger: noteLogger((notice) => void notices.push(notice)),
    onAppended: (records, seconds) => {
      appended.push(records);
      tookS.push(seconds);
    },
  });
  writer.onFenced((why) => fences.push(why));
  const headNow = async () => await stored.readHead('me', 'serial');
  const seen = { appends, asked, fences, appended, tookS, notices };
  return { clock, stored, writer, twists, looks, headNow, ...seen };
}

/** Fails like an unreachable store. */
export const silence = (): never => {
  throw new Fault('service_unavailable', 'no answer', { isOutcomeUnknown: true });
};

/** An answer that arrives when the test decides. */
export function held<Answer>() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const twist: Twist<Answer> = async (apply) => {
    await promise;
    return await apply();
  };
  return { twist, release: resolve };
}
