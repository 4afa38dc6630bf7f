import { memoryAuditStore } from '#storage/memory/meters';
import { auditStoreContract } from '#test/storage/audit-store-contract';

auditStoreContract('memory', async () => ({ store: memoryAuditStore(), account: 'a' })).run();
