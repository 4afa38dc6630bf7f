import { CommitLog } from '#actor-runtime/commit-log';
import type { ServedUntil } from '#actor-runtime/host-ports';
import { decodeGroup } from '#actor-runtime/record-codec';
import {
  EagerActivation,
  HostedShards,
  NodeGate,
  OpenShards,
  type ShardedHost,
} from '#shards/hosted-shards';
import { JournalWriter } from '#shards/journal-writer';
import { RecoveredRecords, TailRecovery } from '#shards/tail-recovery';
import type { JournalRecord } from '#storage/ports/journal';
import { groupOf } from '#test/actor-runtime/commit-log/journal-records';
import { UNNOTICED_APPENDS } from '#test/shards/journal-writer-fixture';
import { appendOf } from '#test/storage/contracts/journal-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { ManualClock } from '#test/support/manual-clock';

/** A host that records its calls, and whose actors replay their records on activation. */
class NotingHost implements ShardedHost {
  readonly kind: string;
  readonly servedUntil: ServedUntil;
  /** Called when the actors of a shard are stored. */
  onStore: () => void = () => undefined;
  readonly steps: string[] = [];
  readonly #take: (actorId: string) => void;
  busy = 0;
  isUnsent = false;
  isStoreDown = false;
  isJournalDown = false;
  ahead: (() => Promise<void>) | undefined;
  /** Copy of `steps` at each request to commit closing records. */
  readonly closings: string[][] = [];
  isActivationStuck = false;
  activations = 0;

  constructor(
    take: (actorId: string) => void,
    kind = 'instance',
    servedUntil: ServedUntil = 'closing',
  ) {
    this.#take = take;
    this.kind = kind;
    this.servedUntil = servedUntil;
  }

  activateEagerly(actorId: string): void {
    this.activations += 1;
    if (this.isActivationStuck) return;
    this.steps.push(`activate ${actorId}`);
    this.#take(actorId);
  }

  busyIn(): number {
    return this.busy;
  }

  async whenSent(): Promise<void> {
    if (this.isUnsent) throw new Error('a receiver is away');
  }

  async storeAhead(): Promise<void> {
    await this.ahead?.();
  }

  closeShard(): void {
    if (this.closings.push([...this.steps]) === 1 && this.isJournalDown) {
      throw new Error('the journal is down');
    }
  }

  async storeShard(shard: number): Promise<void> {
    if (this.isStoreDown) throw new Error('the store is down');
    this.onStore();
    this.steps.push(`store ${shard}`);
  }

  dropShard(shard: number): void {
    this.steps.push(`drop ${shard}`);
  }
}

/** The shard of an actor is the length of its id. */
const shardOf = (actorId: string): number => actorId.length;

/** The journal of `me`, whose appends a test may block, and the sealed journal of `dead`. */
async function journalsWith(tail: readonly JournalRecord[]) {
  const clock = new ManualClock();
  const journals = memoryJournalStore(clock);
  await journals.begin('me', '127.0.0.1:1');
  await journals.begin('dead', '127.0.0.1:2');
  await journals.append(appendOf('dead', 0, groupOf(tail)));
  await journals.seal('dead');
  let held = Promise.resolve();
  const store = {
    ...journals,
    append: async (append: Parameters<typeof journals.append>[0]) => {
      await held;
      return await journals.append(append);
    },
  };
  /** Blocks appends until the returned function is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  const mine = async () =>
    (await journals.readSlots('me', 0, 99)).flatMap(({ records }) => decodeGroup(records));
  return { clock, journals, store, hold, mine };
}

/** Shards of an incarnation `me`, and the sealed journal of `dead` with this tail. */
export async function newScene(tail: readonly JournalRecord[] = []) {
  const { clock, journals, store, hold, mine } = await journalsWith(tail);
  const writer = new JournalWriter('me', { clock, store, ...UNNOTICED_APPENDS });
  const log = new CommitLog(writer, clock);
  const recovered: number[] = [];
  const recoveredS: number[] = [];
  const keep = log.keep.bind(log);
  log.keep = (lowest) => {
    keep(lowest);
    lowestNow = lowest;
  };
  let lowestNow = () => Number.NaN;
  const owner = { incarnation: 'x', address: 'x:1', epoch: 9 };
  const open = new OpenShards();
  const records = new RecoveredRecords(() => 0);
  const ownerOf = (shard: number) => (shard === 1 ? owner : undefined);
  const counts = { notOwner: 0 };
  const onNotOwner = () => {
    counts.notOwner += 1;
  };
  const gate = new NodeGate({ open, recovered: records, shardOf, ownerOf, onNotOwner });
  const recovery = new TailRecovery({
    log,
    journals: store,
    recovered: records,
    clock,
    shardOf,
    onTailRecovered: (count) => recovered.push(count),
    onTakenOver: (seconds) => recoveredS.push(seconds),
  });
  const host = new NotingHost((id) => gate.activated(shardOf(id), 'instance', id));
  const last = new NotingHost((id) => gate.activated(shardOf(id), 'feed', id), 'feed', 'closed');
  const hosts = [last, host];
  const eager = new EagerActivation({ hosts, open, recovered: records, log, clock });
  const shards = new HostedShards({
    ...{ hosts, open, recovered: records, recovery, eager, log, clock },
  });
  return {
    clock,
    journals,
    log,
    gate,
    counts,
    shards,
    host,
    last,
    hold,
    mine,
    owner,
    recovered,
    records,
    recoveredS,
    lowest: () => lowestNow(),
  };
}
