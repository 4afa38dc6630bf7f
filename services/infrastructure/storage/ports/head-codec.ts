import { type ByteReader, ByteWriter, readerOf } from '#storage/ports/bytes';
import {
  type Floor,
  HEADS_MAX,
  type HeldHead,
  type InstanceHead,
  type InstanceStore,
  type NewestRows,
  NO_ROWS,
  type RecentCall,
} from '#storage/ports/instances';
import { unpackedModel } from '#storage/ports/packed-model';

/**
 * Format number in the first byte of a stored head. Any change of the layout below needs a new
 * format number, except a new optional field with its flag: an older program refuses unknown flags.
 */
const FORMAT = 2;

/** Flags for the optional fields that follow. */
const HAS_DELETED_AT = 1;
const HAS_OBSERVED_AT = 2;
const HAS_FLOOR = 4;
const HAS_TAGS = 8;
const FLAGS = HAS_DELETED_AT | HAS_OBSERVED_AT | HAS_FLOOR | HAS_TAGS;

/**
 * Call id of the last entry in the recent calls, which has the time of the newest change. Release
 * 1.0 would refuse a head with an unknown flag, but ignores this entry, because no call has its id.
 */
const CHANGE_MARK = 2 ** 52 - 2;

const writer = new ByteWriter();

/**
 * Encodes a head: 752 bytes of doubles (model 1.1: 808), about 170 other bytes, and at most 6 KiB
 * of rows. A floor adds 44 bytes and another state. Tags add their text and 4 bytes.
 * The time of the newest change adds 24 bytes.
 */
export function encodeHead(head: HeldHead): Buffer {
  const { deletedAtMs, observedAtMs, floor, tagsJson, changedAtMs } = head;
  writer
    .begin(FORMAT)
    .byte(
      (deletedAtMs === undefined ? 0 : HAS_DELETED_AT) |
        (observedAtMs === undefined ? 0 : HAS_OBSERVED_AT) |
        (floor === undefined ? 0 : HAS_FLOOR) |
        (tagsJson === undefined ? 0 : HAS_TAGS),
    )
    .number(head.version)
    .text(head.accountId)
    .text(head.name)
    .text(head.description)
    .number(head.createdAtMs)
    .number(head.updatedAtMs)
    .number(head.originMs);
  if (deletedAtMs !== undefined) writer.number(deletedAtMs);
  if (observedAtMs !== undefined) writer.number(observedAtMs);
  writer
    .number(head.generation)
    .number(head.historyCount)
    .number(head.historyStart)
    .number(head.driftCount)
    .number(head.driftStart)
    .number(head.newestHistory.after)
    .part(head.newestHistory.rows)
    .number(head.newestDrift.after)
    .part(head.newestDrift.rows);
  if (floor !== undefined) writeFloor(floor);
  if (tagsJson !== undefined) writer.text(tagsJson);
  const changes = changedAtMs === undefined ? 0 : 1;
  writer
    .text(head.modelVersion)
    .numbers(unpackedModel(head.model))
    .count(head.recentCalls.length + changes);
  for (const { callId, version, atMs } of head.recentCalls) {
    writer.number(callId).number(version).number(atMs);
  }
  if (changedAtMs !== undefined) writer.number(CHANGE_MARK).number(0).number(changedAtMs);
  return writer.end();
}

/** Decodes the stored head of an instance. Throws `CorruptState`. */
export function decodeHead(instanceId: string, bytes: unknown): InstanceHead {
  const reader = readerOf(bytes, FORMAT, `the head of ${instanceId}`);
  const has = reader.flags(FLAGS);
  const fields = {
    version: reader.number(),
    accountId: reader.text(),
    name: reader.text(),
    description: reader.text(),
    createdAtMs: reader.number(),
    updatedAtMs: reader.number(),
    originMs: reader.number(),
    deletedAtMs: (has & HAS_DELETED_AT) === 0 ? undefined : reader.number(),
    observedAtMs: (has & HAS_OBSERVED_AT) === 0 ? undefined : reader.number(),
    generation: reader.number(),
    historyCount: reader.number(),
    historyStart: reader.number(),
    driftCount: reader.number(),
    driftStart: reader.number(),
    newestHistory: rowsFrom(reader),
    newestDrift: rowsFrom(reader),
    ...((has & HAS_FLOOR) === 0 ? {} : { floor: floorFrom(reader) }),
    ...((has & HAS_TAGS) === 0 ? {} : { tagsJson: reader.text() }),
    modelVersion: reader.text(),
    model: reader.numbers(),
  };
  const calls = recentCallsFrom(reader);
  reader.end();
  const last = calls.at(-1);
  if (last?.callId !== CHANGE_MARK) return { ...fields, recentCalls: calls };
  return { ...fields, recentCalls: calls.slice(0, -1), changedAtMs: last.atMs };
}

function rowsFrom(reader: ByteReader): NewestRows {
  const after = reader.number();
  const rows = reader.part();
  return after === 0 && rows === '' ? NO_ROWS : { after, rows };
}

function writeFloor({ history, drift, generation, cycle, timestampMs, state }: Floor): void {
  writer.number(history).number(drift).number(generation).number(cycle).number(timestampMs);
  writer.part(state ?? '');
}

function floorFrom(reader: ByteReader): Floor {
  const history = reader.number();
  const drift = reader.number();
  const generation = reader.number();
  const cycle = reader.number();
  const timestampMs = reader.number();
  const state = reader.part();
  return { history, drift, generation, cycle, timestampMs, state: state || undefined };
}

function recentCallsFrom(reader: ByteReader): RecentCall[] {
  const calls: RecentCall[] = [];
  for (let left = reader.count(); left > 0; left -= 1) {
    calls.push({ callId: reader.number(), version: reader.number(), atMs: reader.number() });
  }
  return calls;
}

/** Waiting head reads of one bucket, by instance id. A single read serves all of them. */
type Gathering = Map<string, PromiseWithResolvers<InstanceHead | undefined>>;

/**
 * A store that batches reads of single heads. Head reads of one bucket that begin in the same task
 * become one read of at most `HEADS_MAX` heads. Takeovers and listing pages need many heads at the
 * same time. All reads of a batch share its deadline and its faults. A damaged head fails only its
 * own read.
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
