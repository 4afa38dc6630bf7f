import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryJournal } from '#storage/memory/meters';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { journalContract } from '#test/storage/contracts/journal';

const contract = journalContract('memory', async () => memoryJournal());

const memory = suite('an in-memory journal');

memory('is immediately durable, so that no call waits', () => {
  assert.is(memoryJournal().append([lineOf()], 0), undefined);
});

for (const suite of contract) suite.run();
memory.run();
