import { CtlError } from '#ctl/command';
import type { CopiedStores } from '#ctl/copied-stores';
import { unfinishedOf } from '#ctl/import-store';
import type { Clock } from '#platform/clock';
import { ROWS_BEYOND_MAX } from '#storage/chunk-rows';
import { trimmedOf } from '#storage/floor';
import {
  ANSWER_AGE_MS,
  type Chunk,
  type InstanceCheckpoint,
  type InstanceHead,
  type PagedInstances,
} from '#storage/instance-store';

/** Bytes of chunks that gather before they are written. Chosen. */
const CHUNK_BYTES_MAX = 1_048_576;

/** A page of heads as one read of a store gives it. */
type HeadPage = ReadonlyMap<string, InstanceHead | Error>;

/** The id of an instance and its head. */
type NamedHead = readonly [string, InstanceHead];

type Chunks = { history: Chunk[]; drift: Chunk[] };

/** Both sides of a copy. */
export type BothSides = {
  readonly source: CopiedStores;
  readonly target: CopiedStores;
  readonly clock: Clock;
};

/**
 * Copies the instances of a bucket as they are stored: answers, chunks, and the head last, which says
 * that the rest of its instance is there. So an instance whose head is there is left alone. `onInstance`
 * hears of each that was written. Rejects with a `CtlError` at a head that cannot be read, and as the
 * stores do.
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

/** The head of a page's instance. Throws a `CtlError` where it cannot be read. */
export function readable(instanceId: string, head: InstanceHead | Error): InstanceHead {
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

/** Copies the answers of instances that live; those of the journal's records are made again from them. */
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

/** Writes instances of one bucket, as many at once as their chunks allow. */
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
    batch.push({ instanceId, head, ...rest, answers: [] });
    bytes += bytesOf(rest.history) + bytesOf(rest.drift);
    if (bytes > CHUNK_BYTES_MAX) await write();
  }
  if (batch.length > 0) await write();
}

/** Reads the chunks of an instance; `ahead` takes them away when there are many. */
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
