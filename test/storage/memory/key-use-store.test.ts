import { memoryKeyUseStore } from '#storage/memory/accounts';
import { keyUseStoreContract } from '#test/storage/contracts/key-use-store';

keyUseStoreContract('memory', async () => memoryKeyUseStore()).run();
