import { sqliteAuditStore } from '#storage/sqlite/audit';
import { auditStoreContract } from '#test/storage/contracts/audit-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';

const files = scratchFiles();
const database = files.open();
const open = async () => ({
  store: sqliteAuditStore(await emptied(database, 'audit')),
  account: 'a',
});

auditStoreContract('SQLite', open).run();
files.closing().run();
