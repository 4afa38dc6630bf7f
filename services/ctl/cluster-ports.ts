import type { Bus } from '#bus/bus';
import type { Clock } from '#platform/clock';
import type { InstanceStore } from '#storage/instance-store';
import type { JournalStore } from '#storage/journal-store';
import type { ShardStore } from '#storage/shard-store';
import type { AdminClient } from '#wire/admin-client';

/** What a cluster is looked at through. `ctl` writes nothing to any of it. */
export type ClusterPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: InstanceStore;
  /** Opened only by commands that listen, so that the others work without a bus. */
  readonly openBus: () => Promise<Bus>;
  /** First part of all subjects on the bus. */
  readonly prefix: string;
  /** The admin calls of the node at an address (`host:port`). */
  readonly adminAt: (address: string) => Pick<AdminClient, 'drain' | 'readInstance'>;
};
