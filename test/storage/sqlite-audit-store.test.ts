import { sqliteAuditStore } from '#storage/sqlite/sqlite-audit-store';
import { auditStoreContract } from '#test/storage/audit-store-contract';
import { scratchFiles } from '#test/storage/scratch-file';

const files = scratchFiles();
const open = async () => ({ store: sqliteAuditStore(files.open()), account: 'a' });

auditStoreContract('SQLite', open).run();
files.closing().run();
