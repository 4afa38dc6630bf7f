import { memoryAuditStore } from '#storage/memory/meters';
import { auditStoreContract } from '#test/storage/contracts/audit-store';

auditStoreContract('memory', async () => ({ store: memoryAuditStore(), account: 'a' })).run();
