import { memoryMeterStore } from '#storage/memory/meters';
import { meterStoreContract } from '#test/storage/meter-store-contract';

meterStoreContract('memory', async () => memoryMeterStore()).run();
