import type { BucketOf } from '#storage/bucket-of';
import type { InstanceCheckpoint, InstanceHead, InstanceStore } from '#storage/instance-store';
import { type ListingStore, listedOf } from '#storage/listing-store';
import { ActorTables, type TableFlaws } from '#test/simulation/actor-tables';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import type { SimulatedStore } from '#test/simulation/simulated-store';

/** Ways in which checkpoints can be written wrongly. */
export type CheckpointFlaws = TableFlaws & {
  /** The head is written before the rows it counts. */
  readonly isHeadFirst?: boolean;
  /** A checkpoint counts as stored as soon as it is sent. */
  readonly isUnconfirmed?: boolean;
  /** A head forgets the calls that it was stored with. */
  readonly isCallsForgotten?: boolean;
};

/** Rows that go into one batch to one partition. */
const BATCH_ROWS_MAX = 50;

/** The stores of instances and listings of a world, behind a store that fails. */
export class SimulatedActorStores {
  readonly tables: ActorTables;
  readonly #server: SimulatedStore;
  readonly #flaws: CheckpointFlaws;
  readonly #bucketOf: BucketOf;
  readonly #onHead: (id: string, head: InstanceHead, by: string) => void;

  constructor(
    server: SimulatedStore,
    bucketOf: BucketOf,
    onHead: (id: string, head: InstanceHead, by: string) => void,
    flaws: CheckpointFlaws = {},
  ) {
    this.#server = server;
    this.#bucketOf = bucketOf;
    this.#onHead = onHead;
    this.#flaws = flaws;
    this.tables = new ActorTables(flaws);
  }

  /** The instances as one process sees them. */
  instancesOf(process: SimulatedProcess): InstanceStore {
    const { tables } = this;
    const read = <Answer>(name: string, answer: () => Answer): Promise<Answer> =>
      this.#server.call(process, { name, isWrite: false, execute: async () => answer() });
    return {
      bucketOf: this.#bucketOf,
      readHeads: (ids) => read('heads', () => this.#headsAsRead(ids)),
      readHead: (id) => read(`head of ${id}`, () => this.#headAsRead(id)),
      checkpoint: async (checkpoints) => {
        const written = this.#checkpoint(process, checkpoints);
        if (this.#flaws.isUnconfirmed) written.catch(() => undefined);
        else await written;
      },
      readHistory: (id, newest, count) => read('history', () => tables.history(id, newest, count)),
      readDrift: (id, newest, count) => read('drift', () => tables.drift(id, newest, count)),
      findAnswer: (id, key, oldestMs) =>
        read('answer', () => {
          const row = tables.answer(id, key);
          return row === undefined || row.atMs < oldestMs ? undefined : row;
        }),
    };
  }

  /** The listings as one process sees them. */
  listingsOf(process: SimulatedProcess): ListingStore {
    return {
      put: (account, row) =>
        this.#write(process, `list ${row.instanceId} v${row.version}`, () =>
          this.tables.putLine(account, row.instanceId, row.version, row),
        ),
      remove: (account, id, version) =>
        this.#write(process, `unlist ${id} v${version}`, () =>
          this.tables.putLine(account, id, version, undefined),
        ),
      listed: (account) =>
        this.#server.call(process, {
          name: `listing of ${account}`,
          isWrite: false,
          execute: async () => this.tables.lines(account).map(listedOf),
        }),
      find: (account, id) =>
        this.#server.call(process, {
          name: `listed ${id}`,
          isWrite: false,
          execute: async () => this.tables.lines(account).find((row) => row.instanceId === id),
        }),
      load: (account) =>
        this.#server.call(process, {
          name: `listing of ${account}`,
          isWrite: false,
          execute: async () => this.tables.lines(account),
        }),
    };
  }

  #headsAsRead(ids: readonly string[]): Map<string, InstanceHead> {
    const heads = ids.map((id) => [id, this.#headAsRead(id)] as const);
    return new Map(
      heads.filter((entry): entry is [string, InstanceHead] => entry[1] !== undefined),
    );
  }

  #headAsRead(id: string): InstanceHead | undefined {
    const head = this.tables.head(id);
    if (head === undefined || !this.#flaws.isCallsForgotten) return head;
    return { ...head, recentCalls: [] };
  }

  /** Rows, each batch confirmed, and only then all heads at once: as the real store's adapter. */
  async #checkpoint(process: SimulatedProcess, checkpoints: readonly InstanceCheckpoint[]) {
    const names = checkpoints.map(({ instanceId, head }) => `${instanceId} v${head.version}`);
    const putHeads = () =>
      this.#write(process, `heads of ${names.join(', ')}`, () => {
        for (const { instanceId, head } of checkpoints) {
          this.tables.putHead(instanceId, head);
          this.#onHead(instanceId, head, process.name);
        }
      });
    if (this.#flaws.isHeadFirst) await putHeads();
    await Promise.all(checkpoints.flatMap((checkpoint) => this.#rowWrites(process, checkpoint)));
    if (!this.#flaws.isHeadFirst) await putHeads();
  }

  #rowWrites(
    process: SimulatedProcess,
    { instanceId: id, head, history, drift, answers }: InstanceCheckpoint,
  ): Promise<void>[] {
    const { version } = head;
    if (head.deletedAtMs !== undefined) {
      const remove = () => this.tables.deleteRows(id, version);
      return [this.#write(process, `rows of ${id} deleted`, remove)];
    }
    const none = { history: [], drift: [], answers: [] };
    const writes: Promise<void>[] = [];
    const put = (name: string, rows: Omit<InstanceCheckpoint, 'instanceId' | 'head'>): void => {
      const written = `${name} of ${id} v${version}`;
      writes.push(this.#write(process, written, () => this.tables.putRows(id, version, rows)));
    };
    for (let from = 0; from < history.length; from += BATCH_ROWS_MAX) {
      put('history', { ...none, history: history.slice(from, from + BATCH_ROWS_MAX) });
    }
    if (drift.length > 0) put('drift', { ...none, drift });
    if (answers.length > 0) put('answers', { ...none, answers });
    return writes;
  }

  #write(process: SimulatedProcess, name: string, change: () => void): Promise<void> {
    return this.#server.call(process, { name, isWrite: true, execute: async () => change() });
  }
}
