import { isDeepStrictEqual } from 'node:util';
import { RowDigest, type RowPortion, rowPortions } from '#ctl/bounded-work';
import { type CopiedStores, CtlError, DiffersError } from '#ctl/command';
import { unfinishedOf } from '#ctl/export/import';
import { knownResets, type Replay, verifyHead, withDriftEvents } from '#ctl/verify/heads';
import { isWithin } from '#ctl/verify/states';
import type { Clock } from '#stdlib/clock';
import { ROWS_BEYOND_MAX, storedDrift, storedHistory } from '#storage/ports/chunks';
import { encodeHead } from '#storage/ports/head-codec';
import {
  ANSWER_AGE_MS,
  type Chunk,
  type InstanceCheckpoint,
  type InstanceHead,
  type PagedInstances,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';
import { type StateRow, statePages } from '#storage/ports/states';

/** Maximum gathered chunk size before a write, in bytes. */
const CHUNK_BYTES_MAX = 1_048_576;

/** One page of heads from a store, by instance id. An unreadable head is an `Error`. */
type HeadPage = ReadonlyMap<string, InstanceHead | Error>;

/** Instance id and head. */
type NamedHead = readonly [string, InstanceHead];

type Chunks = { history: Chunk[]; drift: Chunk[] };

/** Source and target of a copy, and the clock. */
export type BothSides = {
  readonly source: CopiedStores;
  readonly target: CopiedStores;
  readonly clock: Clock;
};

/**
 * Copies the instances of a bucket as stored: first answers, then chunks, then the head. Skips
 * instances whose head has the same version at the target, because the head proves completeness.
 * Calls `onInstance` for each written instance.
 *
 * Rejects with a `CtlError` for an unreadable head, and with the errors of the stores.
 */
export async function copyBucket(
  { source, target, clock }: BothSides,
  bucket: number,
  onInstance: () => void,
): Promise<void> {
  for await (const page of source.instances.headPages(bucket)) {
    const missing = await missingOf(page, target.instances);
    await copyAnswers(source.instances, target.instances, missing, clock.wallMs());
    await copyInstances(source.instances, target.instances, missing, onInstance);
  }
}

/** Returns the head of an instance. Throws a `CtlError` if the head could not be read. */
function readable(instanceId: string, head: InstanceHead | Error): InstanceHead {
  if (!(head instanceof Error)) return head;
  throw new CtlError(`${instanceId} cannot be copied: ${head.message}`, { cause: head });
}

async function missingOf(page: HeadPage, target: PagedInstances): Promise<readonly NamedHead[]> {
  if (page.size === 0) return [];
  const heads = [...page].map(
    ([id, head]) => [id, readable(id, head)] as const satisfies NamedHead,
  );
  const there = await target.readHeads([...page.keys()]);
  return heads.filter(([id, { version }]) => {
    const stored = there.get(id);
    return stored === undefined || stored instanceof Error || stored.version !== version;
  });
}

/**
 * Copies the stored answers of live instances. A recovery rebuilds answers from journal records.
 */
async function copyAnswers(
  source: PagedInstances,
  target: PagedInstances,
  heads: readonly NamedHead[],
  nowMs: number,
): Promise<void> {
  const living = new Map(heads.filter(([, { deletedAtMs }]) => deletedAtMs === undefined));
  for await (const page of source.answerPages([...living.keys()])) {
    const young = page.filter(({ answer }) => answer.atMs >= nowMs - ANSWER_AGE_MS);
    const byInstance = Map.groupBy(young, ({ instanceId }) => instanceId);
    const parts = [...byInstance].map(([instanceId, own]) => {
      const version = living.get(instanceId)?.version ?? 0;
      return { instanceId, version, answers: own.map(({ answer }) => answer) };
    });
    if (parts.length > 0) await target.storeAnswers(parts);
  }
}

/** Writes a bucket's instances in batches up to `CHUNK_BYTES_MAX`. */
async function copyInstances(
  source: PagedInstances,
  target: PagedInstances,
  heads: readonly NamedHead[],
  onInstance: () => void,
): Promise<void> {
  let batch: InstanceCheckpoint[] = [];
  let bytes = 0;
  const write = async (): Promise<void> => {
    await target.checkpoint(batch);
    for (const _ of batch) onInstance();
    batch = [];
    bytes = 0;
  };
  for (const [instanceId, head] of heads) {
    const ahead = async ({ history, drift }: Chunks): Promise<void> => {
      const whole = { instanceId, head: unfinishedOf(head), history, drift, answers: [] };
      await target.checkpoint([whole]);
    };
    const rest = await restOfChunks(source, instanceId, head, ahead);
    const states = await restOfStates({ source, target }, instanceId, head);
    batch.push({ instanceId, head, ...rest, states, answers: [] });
    bytes += bytesOf(rest.history) + bytesOf(rest.drift);
    if (bytes > CHUNK_BYTES_MAX) await write();
  }
  if (batch.length > 0) await write();
}

/** Copies the states of an instance in pages, with the unfinished head. Returns the last page. */
async function restOfStates(
  { source, target }: { readonly source: PagedInstances; readonly target: PagedInstances },
  instanceId: string,
  head: InstanceHead,
): Promise<readonly StateRow[]> {
  let rest: readonly StateRow[] = [];
  if (head.deletedAtMs !== undefined) return rest;
  const nothing = { history: [], drift: [], answers: [] };
  for await (const page of statePages(source, instanceId)) {
    if (rest.length > 0) {
      const ahead = { ...nothing, instanceId, head: unfinishedOf(head), states: rest };
      await target.checkpoint([ahead]);
    }
    rest = page.filter((row) => isWithin(row, head));
  }
  return rest;
}

/**
 * Reads the chunks of an instance. Passes chunks to `ahead` whenever the chunks in memory exceed
 * `CHUNK_BYTES_MAX`, and returns the rest.
 */
async function restOfChunks(
  source: PagedInstances,
  instanceId: string,
  head: InstanceHead,
  ahead: (chunks: Chunks) => Promise<void>,
): Promise<Chunks> {
  let chunks: Chunks = { history: [], drift: [] };
  if (head.deletedAtMs !== undefined) return chunks;
  const below = trimmedOf(head);
  const tables = [
    ['history', below.history, head.newestHistory.after],
    ['drift', below.drift, head.newestDrift.after],
  ] as const;
  let bytes = 0;
  for (const [table, from, after] of tables) {
    if (after <= from) continue;
    const pages = source.chunkPages(table, instanceId, from, after + ROWS_BEYOND_MAX);
    for await (const page of pages) {
      chunks[table].push(...page);
      bytes += bytesOf(page);
      if (bytes <= CHUNK_BYTES_MAX) continue;
      await ahead(chunks);
      chunks = { history: [], drift: [] };
      bytes = 0;
    }
  }
  return chunks;
}

function bytesOf(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { rows }) => sum + rows.length, 0);
}

/** Totals of a comparison, with the unproven heads. */
export class Compared {
  instances = 0;
  /** Deletion markers. */
  markers = 0;
  observations = 0;
  driftEvents = 0;
  answers = 0;
  /** Number of heads that their rows alone cannot prove: unknown start, or another model. */
  unproven = 0;
  /** Instances whose head contradicts their rows, on both sides. */
  readonly contradicted = new Set<string>();

  /**
   * Records the replay result of an instance. A later result, with the journal records applied,
   * replaces a contradiction.
   */
  add(id: string, replay: Replay): void {
    this.contradicted.delete(id);
    switch (replay.kind) {
      case 'same':
      case 'deleted':
        break;
      case 'unknown_start':
      case 'other_model':
        this.unproven += 1;
        break;
      case 'different':
        this.contradicted.add(id);
    }
  }
}

/**
 * Compares the instances of a bucket bit for bit: heads, all visible rows, and answers. The same
 * pass replays the rows through the model, as `ctl verify` does. Both sides have equal rows, so the
 * verdict holds for both sides.
 *
 * Rejects with a `CtlError` that names the first difference.
 */
export async function compareBucket(
  sides: BothSides,
  bucket: number,
  compared: Compared,
  onInstance: () => void,
): Promise<void> {
  const { source, target } = sides;
  let surplus = 0;
  for await (const page of source.instances.headPages(bucket)) {
    if (page.size === 0) continue;
    const same = await sameHeads(page, target);
    const answers = await compareAnswers(sides, same);
    // Added after the await: other buckets update the count concurrently.
    compared.answers += answers;
    for (const [id, head] of same) {
      if (isLive(head)) surplus -= 1;
      await compareInstance(sides, id, head, compared);
      onInstance();
    }
  }
  // Only live heads are counted: a store may drop an expired deletion marker at any moment.
  for await (const page of target.instances.headPages(bucket)) {
    for (const [id, stored] of page) if (isLive(readable(id, stored))) surplus += 1;
  }
  if (surplus !== 0)
    throw new DiffersError(`bucket ${bucket} has ${surplus} more heads at the target`);
}

function isLive({ deletedAtMs }: InstanceHead): boolean {
  return deletedAtMs === undefined;
}

/**
 * Returns the heads of a page. Throws a `DiffersError` for a head that is missing or different at
 * the target.
 */
async function sameHeads(
  page: ReadonlyMap<string, InstanceHead | Error>,
  { instances }: CopiedStores,
): Promise<ReadonlyMap<string, InstanceHead>> {
  const same = new Map<string, InstanceHead>();
  const there = await instances.readHeads([...page.keys()]);
  for (const [id, stored] of page) {
    const head = readable(id, stored);
    const other = there.get(id);
    if (other === undefined) throw differs(id, 'its head is missing');
    if (!encodeHead(readable(id, other)).equals(encodeHead(head))) throw differs(id, 'its head');
    same.set(id, head);
  }
  return same;
}

async function compareInstance(
  sides: BothSides,
  id: string,
  head: InstanceHead,
  compared: Compared,
): Promise<void> {
  if (!isLive(head)) {
    compared.markers += 1;
    return;
  }
  const below = trimmedOf(head);
  const history = {
    ...{ name: 'observations', read: storedHistory, packing: OBSERVATIONS },
    ...{ below: below.history, total: head.historyCount },
  };
  const drift = {
    ...{ name: 'drift events', read: storedDrift, packing: DRIFT_EVENTS },
    ...{ below: below.drift, total: head.driftCount },
  };
  // Iterating the rows compares them.
  const resets = knownResets(await sameStates(sides, id, head));
  const replay = await verifyHead(head, sameRows(sides, id, head, history), { resets });
  const verdict = await withDriftEvents(replay, head, sameRows(sides, id, head, drift));
  compared.instances += 1;
  compared.driftEvents += head.driftCount - below.drift;
  compared.observations += head.historyCount - below.history;
  compared.add(id, verdict);
}

/** States of both sides. Throws a `DiffersError` if they differ. */
async function sameStates(
  { source, target }: BothSides,
  id: string,
  head: InstanceHead,
): Promise<StateRow[]> {
  const [own = [], other = []] = await Promise.all(
    [source, target].map(async ({ instances }) => {
      const states: StateRow[] = [];
      for await (const page of statePages(instances, id)) states.push(...page);
      return states.filter((row) => isWithin(row, head));
    }),
  );
  if (!isDeepStrictEqual(own, other)) throw differs(id, 'its past states');
  return own;
}

/** Reading and comparing the rows of one table, above ordinal `below` and up to `total`. */
type ComparedRows<Row> = {
  readonly name: string;
  readonly read: (
    store: CopiedStores['instances'],
    id: string,
    head: InstanceHead,
    portion: RowPortion,
  ) => Promise<Row[]>;
  readonly packing: { readonly pack: (row: Row) => string };
  readonly below: number;
  readonly total: number;
};

/**
 * Yields the target's rows, oldest first. Throws a `DiffersError` if a portion differs from the
 * source.
 */
async function* sameRows<Row extends { readonly ordinal: number }>(
  { source, target }: BothSides,
  id: string,
  head: InstanceHead,
  { name, read, packing, below, total }: ComparedRows<Row>,
): AsyncGenerator<Row> {
  for (const portion of rowPortions(below, total)) {
    const [own, other] = await Promise.all([
      read(source.instances, id, head, portion),
      read(target.instances, id, head, portion),
    ]);
    if (packed(own, packing) !== packed(other, packing)) {
      throw differs(id, `its ${name} up to ${portion.newest}`);
    }
    yield* other.reverse();
  }
}

function packed<Row extends { readonly ordinal: number }>(
  rows: readonly Row[],
  packing: { readonly pack: (row: Row) => string },
): string {
  return rows.map((row) => `${row.ordinal} ${packing.pack(row)}`).join('');
}

/**
 * Compares the stored answers of live instances and returns their number. Ignores answers that are
 * too old for a retry. Throws a `DiffersError` if the answers differ.
 */
async function compareAnswers(
  { source, target, clock }: BothSides,
  page: ReadonlyMap<string, InstanceHead>,
): Promise<number> {
  const oldestMs = clock.wallMs() - ANSWER_AGE_MS;
  const living = [...page].filter(([, head]) => isLive(head));
  const ids = living.map(([id]) => id);
  const [own, other] = await Promise.all(
    [source, target].map(({ instances }) => digestOfAnswers(instances, ids, oldestMs)),
  );
  if (own?.text === other?.text) return own?.count ?? 0;
  const others = ids.length > 1 ? ` or of ${ids.length - 1} others` : '';
  throw new DiffersError(`stored answers of ${ids[0]}${others} differ at the target`);
}

async function digestOfAnswers(
  instances: CopiedStores['instances'],
  ids: readonly string[],
  oldestMs: number,
): Promise<RowDigest> {
  const digest = new RowDigest();
  for await (const page of instances.answerPages(ids)) {
    for (const row of page) if (row.answer.atMs >= oldestMs) digest.add(row);
  }
  return digest;
}

function differs(id: string, what: string): DiffersError {
  return new DiffersError(`instance ${id} differs at the target: ${what}`);
}
