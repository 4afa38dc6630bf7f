import { suite } from 'uvu';
import { systemClock } from '#stdlib/clock';
import { journalStoreContract } from '#test/storage/contracts/journal-store';
import { memoryJournalStore } from '#test/storage/memory/journal-store';

const contract = journalStoreContract({
  name: 'memory',
  open: async () => memoryJournalStore(systemClock),
  runs: 300,
  suite,
});

for (const part of contract) part.run();
