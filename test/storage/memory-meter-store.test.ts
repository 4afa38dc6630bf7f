import { memoryMeterStore } from '#storage/memory/memory-meter-store';
import { meterStoreContract } from '#test/storage/meter-store-contract';

meterStoreContract('memory', async () => memoryMeterStore()).run();
