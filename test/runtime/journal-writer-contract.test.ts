import { JournalWriter } from '#node/journal-writer';
import { systemClock } from '#platform/clock';
import { journalContract } from '#test/storage/journal-contract';
import { memoryJournalStore } from '#test/storage/memory-journal-store';

const contract = journalContract('a journal writer', async () => {
  const store = memoryJournalStore(systemClock);
  await store.begin('a', '127.0.0.1:1');
  return new JournalWriter('a', {
    store,
    clock: systemClock,
    onAppended: () => undefined,
  });
});

for (const suite of contract) suite.run();
