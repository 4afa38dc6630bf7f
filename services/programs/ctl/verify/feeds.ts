import { type ClusterCommand, EXIT, NotFoundError } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-line';
import { counted, table } from '#ctl/printed-text';
import { CorruptState } from '#storage/ports/bytes';
import { chunkOf, HOUR_MS } from '#storage/ports/feed-codec';
import {
  FEED_AGE_MS,
  FEED_CHUNK_ROWS,
  type FeedChunk,
  type FeedHead,
  type FeedRow,
  type FeedStore,
} from '#storage/ports/feeds';

/** Chunks per read, about 1 MB. */
const CHUNKS_PER_READ = 64;

/** Maximum number of printed findings. */
const FINDINGS_MAX = 20;

type Chunks = Pick<FeedStore, 'readChunks'>;

/** Numbers of the chunks from `first` to `last`. */
type ChunkRange = { readonly first: number; readonly last: number };

/**
 * `ctl feed verify`: reads the head and all chunks of a feed, and checks their rows. Exit code 3 if
 * rows are missing, damaged or out of order.
 */
export const VERIFY_FEED: ClusterCommand = {
  kind: 'cluster',
  words: ['feed', 'verify'],
  summary: 'check the stored feed of an account',
  description:
    'Reads the stored feed of an account: its head and all chunks of rows. Checks that no row is missing or damaged, and that the versions of each instance ascend. Otherwise exits with 3.',
  args: [ACCOUNT],
  options: {},
  async run({ feeds, clock }, [id = '']) {
    const { head, check } = await checkedFeed(feeds, id, () => clock.wallMs());
    const { rows, expired } = check;
    const findings = check.findings.slice(0, FINDINGS_MAX);
    const { version, floor, next } = head;
    const data = { account: id, version, floor, next, rows, expired_chunks: expired, findings };
    const headings = ['ACCOUNT', 'VERSION', 'FLOOR', 'NEXT', 'ROWS'];
    const lines = [table(headings, [[id, version, floor, next, rows]]), ''];
    if (expired > 0) lines.push(`${counted(expired, 'chunk')} expired after seven days.`);
    lines.push(...findings);
    if (findings.length > 0) return { data, text: lines.join('\n'), exitCode: EXIT.differs };
    lines.push('All other rows are readable, and the versions of each instance ascend.');
    return { data, text: lines.join('\n') };
  },
};

/** Stored chunks of a feed from its floor on, oldest first, in pages. Rejects as the store does. */
export async function* feedChunkPages(
  feeds: Chunks,
  accountId: string,
  head: FeedHead,
): AsyncGenerator<readonly FeedChunk[]> {
  for (const { first, last } of rangesOf(head)) {
    yield await feeds.readChunks(accountId, first, last);
  }
}

function* rangesOf({ floor, next }: FeedHead): Generator<ChunkRange> {
  const end = chunkOf(next);
  for (let first = chunkOf(floor); first < end; first += CHUNKS_PER_READ) {
    yield { first, last: Math.min(end, first + CHUNKS_PER_READ) - 1 };
  }
}

/** Checks a feed. Repeats the check if the floor moved, because its chunks may be deleted. */
async function checkedFeed(feeds: FeedStore, accountId: string, nowMs: () => number) {
  for (;;) {
    const head = await storedHead(feeds, accountId);
    const check = new FeedCheck(head, nowMs());
    for (const range of rangesOf(head)) await checkRange(feeds, accountId, range, check);
    check.takeNewest();
    if (check.findings.length === 0) return { head, check };
    if ((await storedHead(feeds, accountId)).floor === head.floor) return { head, check };
  }
}

async function storedHead(feeds: FeedStore, accountId: string): Promise<FeedHead> {
  const head = await feeds.readHead(accountId);
  if (head !== undefined) return head;
  throw new NotFoundError(`no feed of ${accountId} is stored`);
}

/** Checks the chunks of a range. If a chunk is damaged, reads each chunk separately. */
async function checkRange(
  feeds: Chunks,
  accountId: string,
  { first, last }: ChunkRange,
  check: FeedCheck,
): Promise<void> {
  try {
    check.take({ first, last }, await feeds.readChunks(accountId, first, last));
  } catch (error) {
    if (!(error instanceof CorruptState)) throw error;
    if (first === last) check.findings.push(error.message);
    for (let chunk = first; first < last && chunk <= last; chunk += 1) {
      await checkRange(feeds, accountId, { first: chunk, last: chunk }, check);
    }
  }
}

/** Checks the rows of a feed, oldest first. */
class FeedCheck {
  readonly findings: string[] = [];
  /** Number of read rows. */
  rows = 0;
  /** Number of missing chunks that may have expired. */
  expired = 0;
  readonly #head: FeedHead;
  readonly #nowMs: number;
  /** Last version of each instance. */
  readonly #versions = new Map<string, number>();

  constructor(head: FeedHead, nowMs: number) {
    this.#head = head;
    this.#nowMs = nowMs;
  }

  /** Checks the stored chunks of a range. */
  take({ first, last }: ChunkRange, chunks: readonly FeedChunk[]): void {
    const stored = new Map(chunks.map(({ chunk, rows }) => [chunk, rows]));
    for (let chunk = first; chunk <= last; chunk += 1) {
      const rows = stored.get(chunk);
      if (rows !== undefined) this.#takeRows(chunk * FEED_CHUNK_ROWS, rows);
      else if (this.#mayHaveExpired(chunk)) this.expired += 1;
      else this.findings.push(`chunk ${chunk} is missing`);
    }
  }

  /** Checks the rows of the head, after all chunks. */
  takeNewest(): void {
    const { next, newest } = this.#head;
    this.#takeRows(next - newest.length, newest);
  }

  #takeRows(first: number, rows: readonly FeedRow[]): void {
    this.rows += rows.length;
    for (const [index, [instanceId, version]] of rows.entries()) {
      const before = this.#versions.get(instanceId) ?? -1;
      this.#versions.set(instanceId, version);
      if (version > before) continue;
      const what = `has version ${version} of ${instanceId}, after version ${before}`;
      this.findings.push(`the row at position ${first + index} ${what}`);
    }
  }

  /** Whether all rows of a chunk are older than `FEED_AGE_MS`. The head has the hour of each row. */
  #mayHaveExpired(chunk: number): boolean {
    const lastRow = (chunk + 1) * FEED_CHUNK_ROWS - 1;
    const hour = this.#head.hours.findLast(([, first]) => first <= lastRow)?.[0] ?? 0;
    return (hour + 1) * HOUR_MS + FEED_AGE_MS <= this.#nowMs;
  }
}
