import type { InstanceStore } from '#storage/ports/instances';
import { SimulatedActorStores } from '#test/simulation/simulated/actor-stores';
import { SimulatedProcess } from '#test/simulation/simulated/process';
import { SimulatedStore } from '#test/simulation/simulated/store';
import { Replicas } from '#test/simulation/stored/replicas';
import { World } from '#test/simulation/world';
import { instanceStoreContract } from '#test/storage/contracts/instance-store';

/** Opens a simulated instance store. Simulated time advances during each call. */
async function open(): Promise<InstanceStore> {
  const world = new World(1);
  const nothing = (): void => undefined;
  const replicas = new Replicas(world);
  const actors = new SimulatedActorStores(new SimulatedStore(world), replicas, () => 0, nothing);
  const store = actors.instancesOf(new SimulatedProcess(world, 'n0'));
  return {
    bucketOf: store.bucketOf,
    readHead: (...asked) => world.run(store.readHead(...asked)),
    readHeads: (...asked) => world.run(store.readHeads(...asked)),
    checkpoint: (...asked) => world.run(store.checkpoint(...asked)),
    storeAnswers: (...asked) => world.run(store.storeAnswers(...asked)),
    readHistory: (...asked) => world.run(store.readHistory(...asked)),
    readDrift: (...asked) => world.run(store.readDrift(...asked)),
    readStates: (...asked) => world.run(store.readStates(...asked)),
    findStates: (...asked) => world.run(store.findStates(...asked)),
    findAnswer: (...asked) => world.run(store.findAnswer(...asked)),
    findAnswers: (...asked) => world.run(store.findAnswers(...asked)),
    async *answerPages(ids) {
      yield* await world.run(Array.fromAsync(store.answerPages(ids)));
    },
  };
}

for (const part of instanceStoreContract('the simulation', open)) part.run();
