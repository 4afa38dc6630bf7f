import { sqliteAuditStore } from '#storage/sqlite/audit';
import { auditStoreContract } from '#test/storage/audit-store-contract';
import { emptied, scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const database = files.open();
const open = async () => ({
  store: sqliteAuditStore(await emptied(database, 'audit')),
  account: 'a',
});

auditStoreContract('SQLite', open).run();
files.closing().run();
