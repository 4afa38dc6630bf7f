import { suite } from 'uvu';
import { systemClock } from '#stdlib/clock';
import { sqliteJournalStore } from '#storage/sqlite/journals';
import { journalStoreContract } from '#test/storage/contracts/journal-store';
import { scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();
const beside = async () => sqliteJournalStore(database, systemClock);
const held = sqliteJournalStore(database, systemClock, true);

const SUBJECT = { runs: 25, suite, isClosedBySeal: true };

const contract = [
  ...journalStoreContract({ ...SUBJECT, name: 'SQLite', open: beside }),
  ...journalStoreContract({ ...SUBJECT, name: 'a held file', open: async () => held }),
];

for (const part of [...contract, files.closing()]) part.run();
