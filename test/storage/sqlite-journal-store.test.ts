import { suite } from 'uvu';
import { systemClock } from '#platform/clock';
import { sqliteJournalStore } from '#storage/sqlite/sqlite-journal-store';
import { journalStoreContract } from '#test/storage/journal-store-contract';
import { scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const database = files.open();
const open = async () => sqliteJournalStore(database, systemClock);

const contract = journalStoreContract({ name: 'SQLite', open, runs: 25, suite });

for (const part of [...contract, files.closing()]) part.run();
