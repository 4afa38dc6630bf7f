import { systemClock } from '#stdlib/clock';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { listingStoreContract } from '#test/storage/contracts/listing-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();

const open = async () => sqliteListingStore(await emptied(database, 'listings'), systemClock);

for (const part of listingStoreContract('SQLite', open)) part.run();
files.closing().run();
