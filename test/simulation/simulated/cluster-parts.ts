import type { Scenario } from '#test/simulation/scenario';
import type { SimulatedActorStores } from '#test/simulation/simulated/actor-stores';
import type { SimulatedBus } from '#test/simulation/simulated/bus';
import type { SimulatedCouriers } from '#test/simulation/simulated/couriers';
import type { SimulatedFeedStores } from '#test/simulation/simulated/feed-stores';
import type { SimulatedJournals } from '#test/simulation/simulated/journals';
import type { SimulatedMeterStores } from '#test/simulation/simulated/meter-stores';
import type { SimulatedNetwork } from '#test/simulation/simulated/network';
import type { SimulatedShards } from '#test/simulation/simulated/shards';
import type { World } from '#test/simulation/world';

/** Cluster name, and prefix for bus subjects. */
export const CLUSTER = { cluster: 'simulated', prefix: 'sim' } as const;

/** Simulated infrastructure that the nodes of a cluster share. */
export type ClusterParts = {
  readonly scenario: Scenario;
  readonly world: World;
  readonly network: SimulatedNetwork;
  readonly bus: SimulatedBus;
  readonly shards: SimulatedShards;
  readonly journals: SimulatedJournals;
  readonly customers: SimulatedMeterStores;
  readonly actors: SimulatedActorStores;
  readonly feeds: SimulatedFeedStores;
  /** Undefined if the scenario has no webhook endpoints. */
  readonly couriers: SimulatedCouriers | undefined;
  /** Must be called when a process has sealed the journal of an incarnation as dead. */
  sealedAsDead(incarnation: string, by: string): void;
};
