import {
  type AnswerRow,
  type BucketOf,
  type Chunk,
  type InstanceAnswer,
  type InstanceAnswers,
  type InstanceCheckpoint,
  type InstanceHead,
  type InstanceStore,
  unpackedHead,
} from '#storage/ports/instances';
import { type ListingRow, type ListingStore, listedOf } from '#storage/ports/listings';
import { statesIn } from '#storage/ports/states';
import {
  ActorTables,
  type RowSort,
  type TableFlaws,
} from '#test/simulation/simulated/actor-tables';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { type Merge, ReplicatedState } from '#test/simulation/simulated/replicated-state';
import type { SimulatedStore } from '#test/simulation/simulated/store';
import type { Replicas } from '#test/simulation/stored/replicas';

/** Deliberate flaws in checkpoints. */
export type CheckpointFlaws = TableFlaws & {
  /** Writes the head before the rows that it counts. */
  readonly isHeadFirst?: boolean;
  /** Writes the head before chunks with rows that the head no longer holds. */
  readonly isChunkLast?: boolean;
  /** Writes a head without the rows that no chunk holds. */
  readonly isRowsForgotten?: boolean;
  /** Writes a head without its trim floor. */
  readonly isFloorForgotten?: boolean;
  /** Stamps all heads of a batch with their highest version. */
  readonly isBatchStamped?: boolean;
  /** Acknowledges a checkpoint before it is stored. */
  readonly isUnconfirmed?: boolean;
  /** Acknowledges early answers before they are stored. */
  readonly isAnswerUnconfirmed?: boolean;
  /** Reads heads without their call ids. */
  readonly isCallsForgotten?: boolean;
};

/** Simulated instance and listing stores. */
export class SimulatedActorStores {
  readonly #tables: ReplicatedState<ActorTables>;
  readonly #server: SimulatedStore;
  readonly #flaws: CheckpointFlaws;
  readonly #bucketOf: BucketOf;
  readonly #onHead: (id: string, head: InstanceHead, by: string) => void;

  constructor(
    server: SimulatedStore,
    replicas: Replicas,
    bucketOf: BucketOf,
    onHead: (id: string, head: InstanceHead, by: string) => void,
    flaws: CheckpointFlaws = {},
  ) {
    this.#server = server;
    this.#bucketOf = bucketOf;
    this.#onHead = onHead;
    this.#flaws = flaws;
    this.#tables = new ReplicatedState(replicas, () => new ActorTables(flaws));
  }

  /** Oldest head that a quorum read may return. */
  head(id: string): InstanceHead | undefined {
    const heads = this.#tables.each.map((tables) => tables.head(id));
    return heads.sort((one, other) => (other?.version ?? 0) - (one?.version ?? 0))[1];
  }

  /** Tables as each pair of replicas returns them. */
  get pairs(): ActorTables[] {
    return this.#tables.pairs((into, from) => into.mergeAll(from));
  }

  /** Instance store for a process. */
  instancesOf(process: SimulatedProcess): InstanceStore {
    const readRows = <Answer>(
      id: string,
      sort: RowSort,
      answer: (tables: ActorTables) => Answer,
    ): Promise<Answer> =>
      this.#read(
        process,
        `${sort} of ${id}`,
        (into, from) => into.mergeRows(from, id, sort),
        answer,
      );
    return {
      bucketOf: this.#bucketOf,
      readHeads: (ids) =>
        this.#read(
          process,
          'heads',
          (into, from) => into.mergeHeads(from, ids),
          (tables) => this.#headsAsRead(tables, ids),
        ),
      readHead: (id) =>
        this.#read(
          process,
          `head of ${id}`,
          (into, from) => into.mergeHeads(from, [id]),
          (tables) => this.#headAsRead(tables, id),
        ),
      checkpoint: async (checkpoints) => {
        const written = this.#checkpoint(process, checkpoints);
        if (this.#flaws.isUnconfirmed) written.catch(() => undefined);
        else await written;
      },
      storeAnswers: async (parts) => {
        const written = Promise.all(parts.map((part) => this.#answerWrite(process, part)));
        if (this.#flaws.isAnswerUnconfirmed) written.catch(() => undefined);
        else await written;
      },
      readHistory: (id, newest, count) =>
        readRows(id, 'history', (tables) => tables.history(id, newest, count)),
      readDrift: (id, newest, count) =>
        readRows(id, 'drift', (tables) => tables.drift(id, newest, count)),
      readStates: (id, range) =>
        readRows(id, 'states', (tables) => statesIn(tables.states(id), range)),
      findStates: (id, generation, cycles) =>
        readRows(id, 'states', (tables) =>
          tables
            .states(id)
            .filter((row) => row.generation === generation && cycles.includes(row.cycle)),
        ),
      findAnswer: (id, key, oldestMs) =>
        readRows(id, 'answers', (tables) => {
          const row = tables.answer(id, key);
          return row === undefined || row.atMs < oldestMs ? undefined : row;
        }),
      findAnswers: (id, keys, oldestMs) =>
        readRows(id, 'answers', (tables) =>
          keys
            .flatMap((key) => tables.answer(id, key) ?? [])
            .filter(({ atMs }) => atMs >= oldestMs),
        ),
      answerPages: (ids) =>
        answerPages(ids, (id) => readRows(id, 'answers', (tables) => tables.answersOf(id))),
    };
  }

  /** Listing store for a process. */
  listingsOf(process: SimulatedProcess): ListingStore {
    const readLines = <Answer>(
      account: string,
      answer: (lines: ListingRow[]) => Answer,
    ): Promise<Answer> =>
      this.#read(
        process,
        `listing of ${account}`,
        (into, from) => into.mergeLines(from, account),
        (tables) => answer(tables.lines(account)),
      );
    return {
      put: (account, row) =>
        this.#write(process, `list ${row.instanceId} v${row.version}`, (tables) =>
          tables.putLine(account, row.instanceId, row.version, row),
        ),
      remove: (account, id, version) =>
        this.#write(process, `unlist ${id} v${version}`, (tables) =>
          tables.putLine(account, id, version, undefined),
        ),
      listed: (account) => readLines(account, (lines) => lines.map(listedOf)),
      find: (account, id) =>
        readLines(account, (lines) => lines.find((row) => row.instanceId === id)),
      load: (account) => readLines(account, (lines) => lines),
    };
  }

  #headsAsRead(tables: ActorTables, ids: readonly string[]): Map<string, InstanceHead> {
    const heads = ids.map((id) => [id, this.#headAsRead(tables, id)] as const);
    return new Map(
      heads.filter((entry): entry is [string, InstanceHead] => entry[1] !== undefined),
    );
  }

  #headAsRead(tables: ActorTables, id: string): InstanceHead | undefined {
    const head = tables.head(id);
    if (head === undefined || !this.#flaws.isCallsForgotten) return head;
    return { ...head, recentCalls: [] };
  }

  /** Writes the rows first, and then all heads in one batch, like the Cassandra adapter. */
  async #checkpoint(process: SimulatedProcess, checkpoints: readonly InstanceCheckpoint[]) {
    const names = checkpoints.map(({ instanceId, head }) => `${instanceId} v${head.version}`);
    const stamps = checkpoints.map(({ head }) => head.version);
    const stamp = this.#flaws.isBatchStamped ? Math.max(...stamps) : undefined;
    const putHeads = () =>
      this.#write(process, `heads of ${names.join(', ')}`, (tables) => {
        for (const { instanceId, head: held } of checkpoints) {
          const head = unpackedHead(held);
          tables.putHead(instanceId, this.#headAsWritten(head), stamp);
          this.#onHead(instanceId, head, process.name);
        }
      });
    const { isHeadFirst, isChunkLast } = this.#flaws;
    const all = (write: (checkpoint: InstanceCheckpoint) => Promise<void>[]) =>
      Promise.all(checkpoints.flatMap(write));
    if (isHeadFirst) await putHeads();
    await all((checkpoint) => this.#answerWrites(process, checkpoint));
    await all((checkpoint) => [this.#trim(process, checkpoint)]);
    if (!isChunkLast) await all((checkpoint) => this.#chunkWrites(process, checkpoint));
    if (!isHeadFirst) await putHeads();
    if (isChunkLast) await all((checkpoint) => this.#chunkWrites(process, checkpoint));
  }

  #headAsWritten(head: InstanceHead): InstanceHead {
    if (this.#flaws.isFloorForgotten) {
      const { floor: _, ...rest } = head;
      return rest;
    }
    if (!this.#flaws.isRowsForgotten) return head;
    const { historyCount, driftCount } = head;
    const none = (after: number) => ({ after, rows: '' });
    return { ...head, newestHistory: none(historyCount), newestDrift: none(driftCount) };
  }

  /** Writes answers; for a deleted instance deletes all rows. */
  #answerWrites(
    process: SimulatedProcess,
    { instanceId: id, head, answers }: InstanceCheckpoint,
  ): Promise<void>[] {
    const { version } = head;
    if (head.deletedAtMs !== undefined) {
      const remove = (tables: ActorTables) => tables.deleteRows(id, version);
      return [this.#write(process, `rows of ${id} deleted`, remove)];
    }
    if (answers.length === 0) return [];
    return [this.#answerWrite(process, { instanceId: id, version, answers })];
  }

  #answerWrite(
    process: SimulatedProcess,
    { instanceId: id, version, answers }: InstanceAnswers,
  ): Promise<void> {
    const put = (tables: ActorTables) =>
      tables.putRows(id, version, { history: [], drift: [], answers });
    return this.#write(process, `answers of ${id} v${version}`, put);
  }

  /** Deletes chunks below the floor, and shortens chunks that span the floor. */
  async #trim(
    process: SimulatedProcess,
    { instanceId: id, head, trimmedFrom }: InstanceCheckpoint,
  ): Promise<void> {
    const { version, deletedAtMs, floor } = head;
    if (trimmedFrom === undefined || floor === undefined || deletedAtMs !== undefined) return;
    const trim = (tables: ActorTables) => tables.trimRows(id, version, floor);
    await this.#write(process, `rows of ${id} trimmed`, trim);
    const merge: Merge<ActorTables> = (into, from) => {
      const merged = [into.mergeRows(from, id, 'history'), into.mergeRows(from, id, 'drift')];
      return merged.includes(true);
    };
    const read = (tables: ActorTables) => tables.chunksAbove(id, floor);
    const cut = await this.#read(process, `chunks of ${id}`, merge, read);
    await Promise.all(this.#chunkWrites(process, { instanceId: id, head, ...cut, answers: [] }));
  }

  /** Writes the chunks of each table in sequence. */
  #chunkWrites(
    process: SimulatedProcess,
    { instanceId: id, head, history, drift, states = [] }: InstanceCheckpoint,
  ): Promise<void>[] {
    const { version, deletedAtMs } = head;
    if (deletedAtMs !== undefined) return [];
    const none = { history: [], drift: [], answers: [] };
    const writeTo = async (table: 'history' | 'drift', chunks: readonly Chunk[]): Promise<void> => {
      for (const chunk of chunks) {
        const put = (tables: ActorTables) =>
          tables.putRows(id, version, { ...none, [table]: [chunk] });
        await this.#write(process, `${table} of ${id} v${version}`, put);
      }
    };
    const chunks = [writeTo('history', history), writeTo('drift', drift)];
    if (states.length === 0) return chunks;
    const putStates = (tables: ActorTables) => tables.putRows(id, version, { ...none, states });
    return [...chunks, this.#write(process, `states of ${id} v${version}`, putStates)];
  }

  #write(
    process: SimulatedProcess,
    name: string,
    change: (tables: ActorTables) => void,
  ): Promise<void> {
    const execute = () => this.#tables.write(name, change);
    return this.#server.call(process, { name, isWrite: true, execute });
  }

  #read<Answer>(
    process: SimulatedProcess,
    name: string,
    merge: Merge<ActorTables>,
    answer: (tables: ActorTables) => Answer,
  ): Promise<Answer> {
    const execute = () => this.#tables.read(name, merge, answer);
    return this.#server.call(process, { name, isWrite: false, execute });
  }
}

/** Answers of instances, with one page for each instance. */
async function* answerPages(
  ids: readonly string[],
  read: (id: string) => Promise<readonly AnswerRow[]>,
): AsyncGenerator<readonly InstanceAnswer[]> {
  for (const instanceId of ids) {
    yield (await read(instanceId)).map((answer) => ({ instanceId, answer }));
  }
}
