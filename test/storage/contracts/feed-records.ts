import { chunkOf } from '#storage/ports/feed-codec';
import {
  FEED_CHUNK_ROWS,
  type FeedCheckpoint,
  type FeedChunk,
  type FeedHead,
  type FeedHour,
  type FeedRow,
} from '#storage/ports/feeds';
import type { KeptEndpoint } from '#webhooks/endpoint';

/** Time of the row at position 0: the start of an hour. */
export const FEED_START_MS = Date.UTC(2026, 0, 15, 12);

const HOUR_MS = 3_600_000;

/** Time between two rows, in milliseconds. An hour has 3,600 rows, which are about 14 chunks. */
const ROW_MS = 1_000;

/** Instances that take turns. The versions of each instance ascend. */
const INSTANCES = 3;

/** Row at a position. The time of the row follows from the position. */
export function feedRow(position: number): FeedRow {
  const instanceId = `inst_000000000000000${position % INSTANCES}`;
  const version = Math.floor(position / INSTANCES) + 1;
  const transitions = [[position % 5, version, version, version - 1]];
  return [instanceId, version, FEED_START_MS + ROW_MS * position, transitions];
}

/** Chunk with a number. */
export function feedChunk(chunk: number): FeedChunk {
  return { chunk, rows: feedRows(chunk * FEED_CHUNK_ROWS, (chunk + 1) * FEED_CHUNK_ROWS) };
}

/** Head of a version, before the row at position `next`. */
export function feedHead(version: number, next: number, floor = 0): FeedHead {
  const newest = feedRows(chunkOf(next) * FEED_CHUNK_ROWS, next);
  return { version, next, floor, hours: hoursBetween(floor, next), newest, endpoints: [] };
}

/** Webhook endpoint whose next row is at a position, with a held and a failed row before it. */
export function keptEndpoint(id: string, cursor: number): KeptEndpoint {
  const instanceId = 'inst_0000000000000000';
  const values = { url: 'https://hooks.example/', description: 'é', types: 3, rowsMax: 100 };
  const secrets = [{ sealed: 'new' }, { sealed: 'old', untilMs: FEED_START_MS }];
  const failed = { seq: 1, instanceId, atMs: FEED_START_MS, cause: 'status 500', isReported: true };
  const times = { attempts: 2, dueMs: FEED_START_MS, followsGap: true, isAgain: false };
  return {
    endpoint: { ...values, id, secrets, createdAtMs: FEED_START_MS, paused: undefined },
    progress: {
      cursor,
      held: [
        {
          ...times,
          instanceId,
          rows: [
            [2, 1],
            [3, 4],
          ],
          together: 2,
        },
      ],
      failed: [failed],
      failingSinceMs: undefined,
      isMissing: false,
    },
  };
}

/** Checkpoint with a head as in `feedHead`, and the whole chunks from `firstChunk` on. */
export function feedCheckpoint(
  accountId: string,
  version: number,
  next: number,
  { floor = 0, firstChunk = chunkOf(floor) }: { floor?: number; firstChunk?: number } = {},
): FeedCheckpoint {
  const count = Math.max(0, chunkOf(next) - firstChunk);
  const chunks = Array.from({ length: count }, (_, index) => feedChunk(firstChunk + index));
  return { accountId, head: feedHead(version, next, floor), chunks };
}

function feedRows(first: number, end: number): FeedRow[] {
  return Array.from({ length: end - first }, (_, index) => feedRow(first + index));
}

function hoursBetween(floor: number, next: number): FeedHour[] {
  const hourRows = HOUR_MS / ROW_MS;
  const hours: FeedHour[] = [];
  for (let hour = Math.floor(floor / hourRows); hour * hourRows < next; hour += 1) {
    if (floor < next) hours.push([FEED_START_MS / HOUR_MS + hour, hour * hourRows]);
  }
  return hours;
}
