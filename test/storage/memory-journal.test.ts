import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryJournal } from '#storage/memory/memory-journal';
import { journalContract } from '#test/storage/journal-contract';

const contract = journalContract('memory', async () => memoryJournal());

const memory = suite('a journal in memory');

memory('is as durable as it will get at once, so that nobody waits', () => {
  const facts = { actor: 'instance', actorId: 'inst_1', version: 1, callId: 1, atMs: 1 };
  assert.is(memoryJournal().append([{ ...facts, operation: {} }], 0), undefined);
});

for (const suite of contract) suite.run();
memory.run();
