import { type ClusterCommand, EXIT, NotFoundError } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-line';
import { counted, table } from '#ctl/printed-text';
import type { Flags } from '#identity/transitions';
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
    'Reads the stored feed of an account: its head and all chunks of rows. Checks that no row is missing or damaged, and that each change of an instance continues the change before it. Otherwise exits with 3.',
  args: [ACCOUNT],
  options: {},
  async run({ feeds, clock }, [id = '']) {
    const { head, check } = await checkedFeed(feeds, id, () => clock.wallMs());
    const { rows, repeated, expired } = check;
    const findings = check.findings.slice(0, FINDINGS_MAX);
    const { version, floor, next } = head;
    const counts = { rows, repeated_rows: repeated, expired_chunks: expired };
    const data = { account: id, version, floor, next, ...counts, findings };
    const headings = ['ACCOUNT', 'VERSION', 'FLOOR', 'NEXT', 'ROWS', 'REPEATED'];
    const lines = [table(headings, [[id, version, floor, next, rows, repeated]]), ''];
    if (expired > 0) lines.push(`${counted(expired, 'chunk')} expired after seven days.`);
    lines.push(...findings);
    if (findings.length > 0) return { data, text: lines.join('\n'), exitCode: EXIT.differs };
    lines.push(
      'All other rows are readable, and no change of an instance is missing between them.',
    );
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
    if (first === last) check.lack(error.message);
    for (let chunk = first; first < last && chunk <= last; chunk += 1) {
      await checkRange(feeds, accountId, { first: chunk, last: chunk }, check);
    }
  }
}

/** Newest change of an instance, and the number of gaps before it. */
type LastChange = {
  readonly version: number;
  readonly flags: Flags | undefined;
  readonly gaps: number;
};

/** Checks the rows of a feed, oldest first. */
class FeedCheck {
  readonly findings: string[] = [];
  /** Number of read rows. */
  rows = 0;
  /** Number of rows that a take-over repeated. */
  repeated = 0;
  /** Number of missing chunks that may have expired. */
  expired = 0;
  readonly #head: FeedHead;
  readonly #nowMs: number;
  /** Last version of each instance, and its flags. */
  readonly #last = new Map<string, LastChange>();
  /** Number of places at which rows lack. */
  #gaps = 0;

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
      else if (!this.#mayHaveExpired(chunk)) this.lack(`chunk ${chunk} is missing`);
      else {
        this.expired += 1;
        this.#gaps += 1;
      }
    }
  }

  /** Reports rows that cannot be read. */
  lack(finding: string): void {
    this.findings.push(finding);
    this.#gaps += 1;
  }

  /** Checks the rows of the head, after all chunks. */
  takeNewest(): void {
    const { next, newest } = this.#head;
    this.#takeRows(next - newest.length, newest);
  }

  #takeRows(first: number, rows: readonly FeedRow[]): void {
    this.rows += rows.length;
    for (const [index, row] of rows.entries()) this.#takeRow(first + index, row);
  }

  /** The flags of a change begin where the change before it ended, unless rows lack between them. */
  #takeRow(position: number, [instanceId, version, , transitions]: FeedRow): void {
    const last = this.#last.get(instanceId);
    if (last !== undefined && version <= last.version) {
      this.repeated += 1;
      return;
    }
    const before = transitions[0]?.[3];
    if (last?.gaps === this.#gaps && before !== last.flags) {
      const what = `version ${version} of ${instanceId} does not continue version ${last.version}`;
      this.findings.push(`the row at position ${position}: ${what}`);
    }
    this.#last.set(instanceId, { version, flags: transitions.at(-1)?.[2], gaps: this.#gaps });
  }

  /** Whether all rows of a chunk are older than `FEED_AGE_MS`. The head has the hour of each row. */
  #mayHaveExpired(chunk: number): boolean {
    const lastRow = (chunk + 1) * FEED_CHUNK_ROWS - 1;
    const hour = this.#head.hours.findLast(([, first]) => first <= lastRow)?.[0] ?? 0;
    return (hour + 1) * HOUR_MS + FEED_AGE_MS <= this.#nowMs;
  }
}
