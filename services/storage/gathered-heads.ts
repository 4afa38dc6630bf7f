import { HEADS_MAX, type InstanceHead, type InstanceStore } from '#storage/instance-store';

/** Reads of heads of one bucket that go together, by the instance that they are for. */
type Gathering = Map<string, PromiseWithResolvers<InstanceHead | undefined>>;

/**
 * The same store, whose reads of single heads go together: those of one bucket that begin in the same
 * task are one read, of at most `HEADS_MAX`. For take-overs and listing pages, which need many at
 * once. Each has the deadline and the faults of that read; a damaged head fails alone.
 */
export function gatheredHeads(store: InstanceStore): InstanceStore {
  const gatherings = new Map<number, Gathering>();

  async function read(bucket: number): Promise<void> {
    const gathering = gatherings.get(bucket);
    if (gathering === undefined) return;
    gatherings.delete(bucket);
    const [first, ...others] = gathering;
    if (first === undefined) return;
    if (others.length === 0) first[1].resolve(store.readHead(first[0]));
    else await readTogether(store, gathering);
  }

  return {
    ...store,
    readHead(instanceId) {
      const bucket = store.bucketOf(instanceId);
      let gathering = gatherings.get(bucket);
      if (gathering === undefined) {
        gathering = new Map();
        gatherings.set(bucket, gathering);
        queueMicrotask(() => void read(bucket));
      }
      const known = gathering.get(instanceId);
      if (known !== undefined) return known.promise;
      const asked = Promise.withResolvers<InstanceHead | undefined>();
      gathering.set(instanceId, asked);
      if (gathering.size === HEADS_MAX) void read(bucket);
      return asked.promise;
    },
  };
}

async function readTogether(store: InstanceStore, gathering: Gathering): Promise<void> {
  try {
    const heads = await store.readHeads([...gathering.keys()]);
    for (const [instanceId, asked] of gathering) {
      const head = heads.get(instanceId);
      if (head instanceof Error) asked.reject(head);
      else asked.resolve(head);
    }
  } catch (fault) {
    for (const asked of gathering.values()) asked.reject(fault);
  }
}
