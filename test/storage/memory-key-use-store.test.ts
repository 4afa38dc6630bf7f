import { memoryKeyUseStore } from '#storage/memory/memory-key-use-store';
import { keyUseStoreContract } from '#test/storage/key-use-store-contract';

keyUseStoreContract('memory', async () => memoryKeyUseStore()).run();
