import { Activation } from '#actor-runtime/activation';
import { replay } from '#actor-runtime/replay';
import { shardOf } from '#cluster/shard-owners';
import type { ShardTable } from '#cluster-status/snapshot';
import { type Replay, verifyStored } from '#ctl/verify/heads';
import type { StatesStore } from '#ctl/verify/states';
import type { Directory } from '#engine/directory/kind';
import { InstanceKind } from '#engine/instance/kind';
import { engineMetrics } from '#engine/instance/process-call';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import { readTail, type TailRecord } from '#shards/tail-recovery';
import type { Clock } from '#stdlib/clock';
import { rowsOfChunks } from '#storage/ports/chunks';
import {
  type Chunk,
  type InstanceCheckpoint,
  type InstanceStore,
  unpackedHead,
} from '#storage/ports/instances';
import type { JournalStore } from '#storage/ports/journal';
import { DRIFT_EVENTS, OBSERVATIONS, type RowReading } from '#storage/ports/rows';
import { comparePositions, type StateRow, statesIn } from '#storage/ports/states';
import { createMetrics } from '#telemetry/metrics';

/** Inputs of a tail verification: source journals and target instances. */
type TailParts = {
  readonly journals: JournalStore;
  readonly instances: InstanceStore;
  readonly clock: Clock;
};

/** Directory that ignores all calls, because a verification uses no listings. */
const NO_DIRECTORY: Directory = {
  put: async () => undefined,
  reserve: async () => undefined,
  remove: async () => undefined,
};

/**
 * Applies the tail of every owner's journal to the stored instances, as a takeover of the shards
 * does. Verifies each result (see `verifyStored`) and stores nothing. Calls `onReplay` for each
 * instance with records. Returns the number of records.
 *
 * Rejects with `CorruptJournal`, as a recovery would, if a record is missing or invalid.
 */
export async function verifyTails(
  parts: TailParts,
  { rows, shardCount }: ShardTable,
  onReplay: (instanceId: string, replay: Replay) => void,
): Promise<number> {
  const kind = new InstanceKind({
    store: parts.instances,
    directory: NO_DIRECTORY,
    metrics: engineMetrics(createMetrics(), parts.clock),
  });
  let records = 0;
  for (const [owner, owned] of Map.groupBy(rows, (row) => row.owner)) {
    const shards = new Set(owned.map(({ shard }) => shard));
    const isOwned = (actorId: string) => shards.has(shardOf(actorId, shardCount));
    const tail = await readTail(parts.journals, owner, isOwned);
    records += tail.length;
    const ofInstances = tail.filter(({ actor }) => actor === kind.name);
    for (const [id, own] of Map.groupBy(ofInstances, ({ actorId }) => actorId)) {
      onReplay(id, await replayed(kind, parts, id, own));
    }
  }
  return records;
}

async function replayed(
  kind: InstanceKind,
  { instances, clock }: TailParts,
  id: string,
  records: readonly TailRecord[],
): Promise<Replay> {
  const { state, version } = await kind.activate(id);
  const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  const activation = new Activation<typeof state, EngineCall, EngineAnswer>(id, 0, now.monotonicMs);
  activation.state = state;
  activation.version = version;
  const lines = records.map(({ line }) => line);
  replay(kind, activation, state, { lines, offset: 0 }, now, { recovered: () => undefined });
  const { copy } = kind.sourcing.checkpoint(id, activation.state ?? state, []);
  return await verifyStored(withRowsOf(instances, copy), id, unpackedHead(copy.head));
}

/** Stored rows and states, plus the chunks and states of an unstored checkpoint. */
function withRowsOf(
  instances: InstanceStore,
  { history, drift, states = [] }: InstanceCheckpoint,
): StatesStore {
  const isOwn = (row: StateRow) => states.some((own) => comparePositions(own, row) === 0);
  return {
    async readStates(id, range) {
      const stored = await instances.readStates(id, range);
      const all = [...stored.filter((row) => !isOwn(row)), ...states].sort(comparePositions);
      return statesIn(all, range);
    },
    findStates: (...asked) => instances.findStates(...asked),
    readHistory: above(OBSERVATIONS, history, (...asked) => instances.readHistory(...asked)),
    readDrift: above(DRIFT_EVENTS, drift, (...asked) => instances.readDrift(...asked)),
  };
}

type ReadRows<Row> = (instanceId: string, newest: number, count: number) => Promise<Row[]>;

/** Reads rows from chunks, and older rows from the store. */
function above<Row extends { readonly ordinal: number }>(
  packing: RowReading<Row>,
  chunks: readonly Chunk[],
  readStored: ReadRows<Row>,
): ReadRows<Row> {
  const newestFirst = chunks.toReversed();
  return async (instanceId, newest, count) => {
    const own = rowsOfChunks(packing, instanceId, newestFirst, newest, count);
    const below = (own.at(-1)?.ordinal ?? newest + 1) - 1;
    return [...own, ...(await readStored(instanceId, below, count - own.length))];
  };
}
