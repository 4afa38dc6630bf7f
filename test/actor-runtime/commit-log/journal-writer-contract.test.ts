import { JournalWriter } from '#shards/journal-writer';
import { systemClock } from '#stdlib/clock';
import { UNNOTICED_APPENDS } from '#test/shards/journal-writer-fixture';
import { journalContract } from '#test/storage/contracts/journal';
import { memoryJournalStore } from '#test/storage/memory/journal-store';

const contract = journalContract('a journal writer', async () => {
  const store = memoryJournalStore(systemClock);
  await store.begin('a', '127.0.0.1:1');
  return new JournalWriter('a', {
    store,
    clock: systemClock,
    ...UNNOTICED_APPENDS,
  });
});

for (const suite of contract) suite.run();
