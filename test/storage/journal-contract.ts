import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { CommitLog } from '#runtime/commit-log';
import type { Journal, JournalRecord } from '#storage/journal';

/** Groups appended without waiting; a journal may gather them, but not mix them up. */
const GROUPS = 50;

/** Records of the largest group. Source: architecture 3.1. */
const GROUP_RECORDS_MAX = 4_096;

/** The promises of the Journal port as suites to be run. `open` gives a journal with one writer. */
export function journalContract(name: string, open: () => Promise<Journal>): Test[] {
  const groups = suite(`groups in ${name}`);

  groups('are durable at once or when a promise says so', async () => {
    const journal = await open();
    for (const count of [1, 3, GROUP_RECORDS_MAX]) {
      const appended = journal.append(recordsOf(count));
      assert.ok(appended === undefined || appended instanceof Promise);
      assert.is(await appended, undefined);
    }
  });

  groups('may be empty: an idle writer shows that it lives', async () => {
    const journal = await open();
    assert.is(await journal.append([]), undefined);
    assert.is(await journal.append(recordsOf(1)), undefined);
  });

  groups('are durable in the order of the calls', async () => {
    const journal = await open();
    const order: number[] = [];
    const appends = Array.from({ length: GROUPS }, async (_, index) => {
      await journal.append(recordsOf(1 + (index % 5)));
      order.push(index);
    });
    await Promise.all(appends);
    assert.equal(
      order,
      Array.from({ length: GROUPS }, (_, index) => index),
    );
  });

  groups('belong to the journal as they were: the list may be changed afterwards', async () => {
    const journal = await open();
    const group = recordsOf(3);
    const appended = journal.append(group);
    group.length = 0;
    assert.is(await appended, undefined);
  });

  groups('let a commit log answer in the order of its records', async () => {
    const log = new CommitLog(await open());
    const order: number[] = [];
    const waits = recordsOf(GROUPS).map(async (record) => {
      const position = log.add(record);
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

function recordsOf(count: number): JournalRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    actorId: `inst_${index}`,
    version: index + 1,
    operation: { kind: 'observed', atMs: 1_768_478_400_000 + index },
  }));
}
