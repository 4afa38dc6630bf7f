import type { ChunkBounds } from '#engine/cut-chunks';
import { EngineActors } from '#engine/engine-actors';
import type { Models } from '#identity/model';
import type { Metrics } from '#platform/metrics';
import type { ProcessPorts } from '#platform/process-ports';
import { CommitLog } from '#runtime/commit-log';
import type { ActorHostConfig } from '#runtime/host-ports';
import { ONE_SHARD } from '#runtime/shard-gate';
import type { InstanceStore } from '#storage/instance-store';
import type { Journal } from '#storage/journal';
import type { ListingStore } from '#storage/listing-store';

/** What an engine needs of its process, wherever it keeps its data. */
export type EnginePorts = ProcessPorts & {
  readonly metrics: Metrics;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  /** Undefined: those of this program. */
  readonly models?: Models | undefined;
  /** When rows leave a head; undefined: as the service's bounds say. */
  readonly chunkBounds?: ChunkBounds | undefined;
};

/** An engine that is the only one: on memory, where a crash leaves nothing to take over. */
export function composeEngine(
  config: ActorHostConfig,
  {
    clock,
    metrics,
    instances,
    listings,
    models,
    onBug,
    tracer,
    journal,
  }: EnginePorts & { readonly journal: Journal },
): EngineActors {
  return new EngineActors(config, {
    clock,
    metrics,
    log: new CommitLog(journal, clock),
    gate: ONE_SHARD,
    instances,
    listings,
    models,
    engines: undefined,
    summariesOf: undefined,
    onBug,
    tracer,
  });
}
