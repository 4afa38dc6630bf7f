import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { CommitLog } from '#actor-runtime/commit-log';
import { systemClock } from '#stdlib/clock';
import type { Journal } from '#storage/ports/journal';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';

const GROUPS = 50;

/** Maximum records of a group. Source: architecture 3.1. */
const GROUP_RECORDS_MAX = 4_096;

/** Contract tests of the Journal port. `open` returns a journal with one writer. */
export function journalContract(name: string, open: () => Promise<Journal>): Test[] {
  const groups = suite(`groups in ${name}`);

  groups('are durable when `append` returns, or when its promise fulfils', async () => {
    const journal = await open();
    for (const count of [1, 3, GROUP_RECORDS_MAX]) {
      const appended = journal.append(linesOf(count), 0);
      assert.ok(appended === undefined || appended instanceof Promise);
      assert.is(await appended, undefined);
    }
  });

  groups('may be empty, as the heartbeat of an idle writer', async () => {
    const journal = await open();
    assert.is(await journal.append([], 0), undefined);
    assert.is(await journal.append(linesOf(1), 0), undefined);
  });

  groups('are copied, so that the list may be changed afterwards', async () => {
    const journal = await open();
    const group = linesOf(3);
    const appended = journal.append(group, 0);
    group.length = 0;
    assert.is(await appended, undefined);
  });

  groups('let a commit log answer in record order', async () => {
    const log = new CommitLog(await open(), systemClock);
    const order: number[] = [];
    const waits = linesOf(GROUPS).map(async (line) => {
      const position = log.add(line);
      await log.whenDurable(position);
      assert.ok(log.isDurable(position));
      order.push(position);
    });
    await Promise.all(waits);
    assert.equal(
      order,
      Array.from({ length: GROUPS }, (_, index) => index + 1),
    );
  });

  return [groups];
}

function linesOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => lineOf({ actorId: `inst_${i}`, version: i + 1 }));
}
