import type { CommitLog } from '#actor-runtime/commit-log';
import type { RecoveredTail } from '#actor-runtime/host-ports';
import { actorOf, CorruptJournal, cutLoose, linesOf } from '#actor-runtime/record-codec';
import type { ShardClaim } from '#cluster/shard-host';
import { toFault } from '#errors/fault';
import {
  TAIL_READ_BYTES,
  TAIL_READ_SLOTS_MAX,
  TAIL_READ_SLOTS_MIN,
  TAIL_READS_IN_FLIGHT_MAX,
} from '#shards/journal-bounds';
import type { Clock } from '#stdlib/clock';
import type { BucketOf } from '#storage/ports/instances';
import type { JournalHead, JournalSlot, JournalStore } from '#storage/ports/journal';
import type { Span, Tracer } from '#telemetry/tracer';

/** Slots in order, and whether the store had to be read in smaller pieces. */
type Read = { readonly slots: readonly JournalSlot[]; readonly wasTooLarge: boolean };

/** Record of another node's journal as an undecoded line. Only the line's actor has been read. */
export type TailRecord = {
  readonly actor: string;
  readonly actorId: string;
  readonly line: string;
};

/**
 * Reads the records of the wanted actors from the tail of a sealed journal, in order. The tail runs
 * from the low-water mark to before `next`. Lines stay undecoded, because decoding and encoding
 * would take most of the time of a take-over.
 *
 * Throws `CorruptJournal` when a slot is missing or unreadable, or when the journal is missing or
 * not sealed. To continue would lose acknowledged records (architecture 3.1).
 */
export async function readTail(
  journals: JournalStore,
  incarnation: string,
  isWanted: (actorId: string) => boolean,
): Promise<TailRecord[]> {
  const found = await journals.readHead(incarnation, 'serial');
  if (found?.isSealed === false) {
    throw new CorruptJournal(`the journal of ${incarnation} is not sealed`);
  }
  // The sealing node may have crashed before it recorded the journal's end. Sealing is repeatable.
  const sealed = await journals.seal(incarnation);
  const head = sealed.isApplied ? await journals.readHead(incarnation, 'serial') : sealed.head;
  if (head === undefined)
    throw new CorruptJournal(`the journal of ${incarnation} does not exist any more`);
  const tail: TailRecord[] = [];
  for await (const { records } of slotsOf(journals, incarnation, head)) {
    for (const line of linesOf(records)) {
      const { actor, actorId } = actorOf(line);
      if (isWanted(actorId)) tail.push({ actor, actorId, line });
    }
  }
  return tail;
}

/**
 * All slots from the low-water mark to before `next`, in order. Reads ahead while the caller
 * processes slots. Throws `CorruptJournal` when a slot is missing.
 */
export async function* slotsOf(
  journals: JournalStore,
  incarnation: string,
  { lowWaterMark, next }: JournalHead,
): AsyncGenerator<JournalSlot> {
  const reads: Promise<Read>[] = [];
  let count = TAIL_READ_SLOTS_MIN;
  let most = TAIL_READ_SLOTS_MAX;
  for (let from = lowWaterMark; from < next || reads.length > 0; ) {
    while (from < next && reads.length < TAIL_READS_IN_FLIGHT_MAX) {
      const to = Math.min(next, from + count);
      const read = readWhole(journals, incarnation, from, to);
      // If the caller stops early, nobody awaits this read.
      read.catch(() => undefined);
      reads.push(read);
      from = to;
    }
    const read = await reads.shift();
    if (read === undefined) continue;
    if (read.wasTooLarge) most = TAIL_READ_SLOTS_MIN;
    count = Math.min(most, countAfter(read, count));
    yield* read.slots;
  }
}

/** Number of slots in the next read. An idle node has tiny slots, a busy node has large slots. */
function countAfter({ slots }: Read, count: number): number {
  const bytes = slots.reduce((sum, { records }) => sum + records.length, 0);
  if (bytes > TAIL_READ_BYTES) return Math.max(TAIL_READ_SLOTS_MIN, count / 2);
  // A read that was requested before `count` grew has fewer slots. Such a read gives no reason to
  // grow again.
  const isRoomLeft = slots.length === count && bytes < TAIL_READ_BYTES / 2;
  return isRoomLeft ? count * 2 : count;
}

async function readWhole(
  journals: JournalStore,
  incarnation: string,
  from: number,
  to: number,
): Promise<Read> {
  const whole = await journals.readSlots(incarnation, from, to).catch((error: unknown) => {
    if (to - from <= TAIL_READ_SLOTS_MIN) throw error;
    return undefined;
  });
  const slots = whole ?? (await readInPieces(journals, incarnation, from, to));
  if (!isWhole(slots, from, to)) {
    throw new CorruptJournal(`the journal of ${incarnation} lacks slots in ${from} to ${to - 1}`);
  }
  return { slots, wasTooLarge: whole === undefined };
}

/** Whether `slots` are exactly the slots from `from` to before `to`. */
function isWhole(slots: readonly JournalSlot[], from: number, to: number): boolean {
  return slots.length === to - from && slots.every(({ slot }, i) => slot === from + i);
}

/**
 * Reads slots in smaller pieces, because together they exceed one answer of the store. Otherwise
 * the shards of these slots could not be recovered.
 */
async function readInPieces(
  journals: JournalStore,
  incarnation: string,
  from: number,
  to: number,
): Promise<JournalSlot[]> {
  const slots: JournalSlot[] = [];
  for (let at = from; at < to; at += TAIL_READ_SLOTS_MIN) {
    const end = Math.min(to, at + TAIL_READ_SLOTS_MIN);
    slots.push(...(await journals.readSlots(incarnation, at, end)));
  }
  return slots;
}

/** Dependencies of tail recovery. */
type TailRecoveryParts = {
  readonly log: CommitLog;
  readonly journals: JournalStore;
  readonly recovered: RecoveredRecords;
  readonly clock: Clock;
  readonly tracer?: Tracer | undefined;
  readonly shardOf: (actorId: string) => number;
  /**
   * Called with the number of recovered records, before these records are appended to this node's
   * journal. `incarnation` is the failed incarnation.
   */
  readonly onTailRecovered: (records: number, incarnation: string) => void;
  /**
   * Called when a shard of a failed incarnation is served again. `seconds` is the time since the
   * recovery of the shard began.
   */
  readonly onTakenOver: (seconds: number) => void;
};

/**
 * Copies the tail of a failed incarnation's journal into this node's journal, and holds the records
 * until their actors have replayed them (architecture 3.3).
 */
export class TailRecovery {
  readonly #parts: TailRecoveryParts;
  /** Start of the recovery of each shard that is being taken over (monotonic, in milliseconds). */
  readonly #beganMs = new Map<number, number>();

  constructor(parts: TailRecoveryParts) {
    this.#parts = parts;
    parts.log.keep(() => parts.recovered.lowest);
  }

  /**
   * Implements `ShardHost.recoverTail`. Rejects also when this incarnation's own journal has ended.
   */
  async recover(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    const attributes = { 'identity.incarnation': incarnation, 'identity.shards': claims.length };
    const start = { name: 'takeover', kind: 'internal', attributes } as const;
    const span = this.#parts.tracer?.rare(start);
    try {
      const records = await this.#recover(incarnation, claims, span);
      span?.end({ attributes: { 'identity.journal.records': records } });
    } catch (error) {
      span?.end({ error: toFault(error).code });
      throw error;
    }
  }

  /** Returns the number of recovered records. */
  async #recover(
    incarnation: string,
    claims: readonly ShardClaim[],
    span: Span | undefined,
  ): Promise<number> {
    const { journals, shardOf, log, clock, recovered, onTailRecovered } = this.#parts;
    const beganMs = clock.monotonicMs();
    for (const { shard } of claims) this.#beganMs.set(shard, beganMs);
    const wanted = new Set(claims.map(({ shard }) => shard));
    const tail = await readTail(journals, incarnation, (actorId) => wanted.has(shardOf(actorId)));
    log.assertAlive();
    // Hold the records before they are durable, so that the low-water mark cannot pass them.
    const offset = log.added + 1;
    const byShard = Map.groupBy(tail, ({ actorId }) => shardOf(actorId));
    for (const { shard, epoch } of claims) {
      recovered.hold(shard, epoch, byShard.get(shard) ?? [], offset);
    }
    for (const { line } of tail) log.add(line, span?.traceparent);
    onTailRecovered(tail.length, incarnation);
    await log.whenDurable(log.added);
    return tail.length;
  }

  /** Opens a shard after its claim was won. Its recovered records now belong to its actors. */
  opened({ shard, epoch }: ShardClaim): void {
    this.#parts.recovered.open(shard, epoch);
    const beganMs = this.#beganMs.get(shard);
    if (beganMs === undefined) return;
    this.#beganMs.delete(shard);
    this.#parts.onTakenOver((this.#parts.clock.monotonicMs() - beganMs) / 1_000);
  }
}

/** Recovered records for one shard and epoch, and the log offset of the first record. */
type Claim = { readonly tails: Map<string, RecoveredTail>; readonly offset: number };

/**
 * Recovered records of failed nodes, by shard and epoch. Records are kept until the claim to their
 * epoch is decided. Only an opening at exactly that epoch uses the records. They then stay until
 * their actors have been activated (architecture 3.3).
 */
export class RecoveredRecords {
  /** Records of undecided claims, by shard and epoch. */
  readonly #claims = new Map<number, Map<number, Claim>>();
  /** Records of actors that are not activated yet, by open shard. */
  readonly #open = new Map<number, Map<string, RecoveredTail>>();
  readonly #bucketOf: BucketOf;
  #replayedActors = 0;

  /** `bucketOf` names the bucket of an actor. Stored states of one bucket can be read together. */
  constructor(bucketOf: BucketOf) {
    this.#bucketOf = bucketOf;
  }

  /**
   * Keeps records for the claim to `epoch`, in journal order. `offset` is the log offset of the
   * first record.
   */
  hold(shard: number, epoch: number, records: readonly TailRecord[], offset: number): void {
    const tails = new Map<string, RecoveredTail>();
    for (const [actor, ofKind] of Map.groupBy(records, (record) => record.actor)) {
      for (const [actorId, ofActor] of Map.groupBy(ofKind, (record) => record.actorId)) {
        // These lines may be kept for long, so copy them. Slices would keep the whole group text in
        // memory.
        const lines = cutLoose(ofActor.map(({ line }) => line));
        tails.set(keyOf(actor, actorId), { lines, offset });
      }
    }
    const claims = this.#claims.get(shard) ?? new Map<number, Claim>();
    claims.set(epoch, { tails, offset });
    this.#claims.set(shard, claims);
  }

  /** Whether the records for this claim have been recovered. */
  isHeld(shard: number, epoch: number): boolean {
    return this.#claims.get(shard)?.has(epoch) ?? false;
  }

  /** Moves the records of a won claim to the shard's actors. */
  open(shard: number, epoch: number): void {
    const claim = this.#claims.get(shard)?.get(epoch);
    this.decide(shard, epoch);
    if (claim === undefined || claim.tails.size === 0) return;
    this.#open.set(shard, this.#byBucket(claim.tails));
  }

  /** Sorts tails by bucket, so that eager activation reads actors of one bucket together. */
  #byBucket(tails: ReadonlyMap<string, RecoveredTail>): Map<string, RecoveredTail> {
    const placed = [...tails].map(([key, tail]) => ({
      key,
      tail,
      bucket: this.#bucketOf(idOf(key)),
    }));
    placed.sort((a, b) => a.bucket - b.bucket);
    return new Map(placed.map(({ key, tail }) => [key, tail]));
  }

  /**
   * Drops the records of claims up to `epoch`. These claims are decided when the shard's row has
   * reached this epoch.
   */
  decide(shard: number, epoch: number): void {
    const claims = this.#claims.get(shard);
    for (const claimed of [...(claims?.keys() ?? [])])
      if (claimed <= epoch) claims?.delete(claimed);
    if (claims?.size === 0) this.#claims.delete(shard);
  }

  /** Records that an actor must replay when it is activated. */
  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined {
    return this.#open.get(shard)?.get(keyOf(actor, actorId));
  }

  /**
   * Drops the records of an actor that has replayed them. Its checkpointer tracks them from now on.
   */
  activated(shard: number, actor: string, actorId: string): void {
    this.#replayedActors += 1;
    const tails = this.#open.get(shard);
    tails?.delete(keyOf(actor, actorId));
    if (tails?.size === 0) this.#open.delete(shard);
  }

  /** Number of actors that have replayed their records. */
  get replayedActors(): number {
    return this.#replayedActors;
  }

  /** Ids of actors of a kind in an open shard that are not activated yet, at most `count`. */
  waiting(shard: number, actor: string, count: number): string[] {
    const prefix = keyOf(actor, '');
    const ids: string[] = [];
    for (const key of this.#open.get(shard)?.keys() ?? []) {
      if (ids.length >= count) break;
      if (key.startsWith(prefix)) ids.push(key.slice(prefix.length));
    }
    return ids;
  }

  /** Whether any actor of the kind in an open shard is not activated yet. */
  hasWaiting(shard: number, actor: string): boolean {
    return this.waiting(shard, actor, 1).length > 0;
  }

  /** Lowest log offset of the records held here; infinite if there are none. */
  get lowest(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const claims of this.#claims.values()) {
      for (const { offset } of claims.values()) lowest = Math.min(lowest, offset);
    }
    for (const tails of this.#open.values()) {
      for (const { offset } of tails.values()) lowest = Math.min(lowest, offset);
    }
    return lowest;
  }

  /** Number of records that wait for their actors or for the decision on a claim. */
  get size(): number {
    let size = 0;
    const count = (tails: ReadonlyMap<string, RecoveredTail>) => {
      for (const { lines } of tails.values()) size += lines.length;
    };
    for (const claims of this.#claims.values())
      for (const { tails } of claims.values()) count(tails);
    for (const tails of this.#open.values()) count(tails);
    return size;
  }
}

function keyOf(actor: string, actorId: string): string {
  return `${actor}:${actorId}`;
}

function idOf(key: string): string {
  return key.slice(key.indexOf(':') + 1);
}
