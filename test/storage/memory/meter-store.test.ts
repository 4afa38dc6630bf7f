import { memoryMeterStore } from '#storage/memory/meters';
import { meterStoreContract } from '#test/storage/contracts/meter-store';

meterStoreContract('memory', async () => memoryMeterStore()).run();
