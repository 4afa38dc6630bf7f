import { suite } from 'uvu';
import { systemClock } from '#platform/clock';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { journalStoreContract } from '#test/storage/journal-store-contract';

const contract = journalStoreContract({
  name: 'memory',
  open: async () => memoryJournalStore(systemClock),
  runs: 300,
  suite,
});

for (const part of contract) part.run();
