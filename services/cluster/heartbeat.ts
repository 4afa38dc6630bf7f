import { z } from 'zod';
import { isHostPort } from '#platform/network';
import type { ShardedService } from '#storage/ports/cluster';

/** A shard that the sender owns, and the epoch at which it does. */
export type OwnedShard = readonly [shard: number, epoch: number];

/** Bytes of a message that is read at all: 4,096 shards with long epochs. */
const MESSAGE_BYTES_MAX = 64 * 1_024;

/** Characters of a name, an id or an address; a host name has 253 at most. */
const TEXT_LENGTH_MAX = 300;

/** Shards of one service, and so of one heartbeat. */
const SHARDS_MAX = 4_096;

const text = z.string().min(1).max(TEXT_LENGTH_MAX);
/** What may be connected to: nothing that leads anywhere else. */
const address = z.string().max(TEXT_LENGTH_MAX).refine(isHostPort);
const service = z.enum(['engine', 'limiter']);

// Fields that are not known are left out, so that a newer version may say more.
const heartbeatSchema = z.object({
  /** Id of the cluster, from the database: two clusters on one NATS must not believe each other. */
  cluster: text,
  service,
  /** The stable name, which places the process on the ring. */
  node: text,
  incarnation: text,
  /** `host:port` of its gRPC server. */
  address,
  /** Unix time; of two incarnations of one node the later one counts. */
  startedAtMs: z.int(),
  /** The release that it runs, for people; none before 1.0.0. */
  release: z.string().max(TEXT_LENGTH_MAX).optional(),
  /** It is giving its shards away and takes none. */
  isLeaving: z.boolean(),
  /** Its clock is wrong: it gives its shards away and takes none until that is mended. */
  isAside: z.boolean().optional(),
  /** Names the nodes that the sender sees; equal for equal views. */
  viewHash: z.string().max(TEXT_LENGTH_MAX),
  shards: z.custom<readonly OwnedShard[]>(areOwnedShards),
  /** Of the whole service: a process that only routes calls learns it here. */
  shardCount: z.int().min(1).max(SHARDS_MAX),
});

/** What a process of a sharded service says of itself every second. Source: architecture 3. */
export type Heartbeat = Readonly<z.infer<typeof heartbeatSchema>>;

const announcementSchema = z.object({
  cluster: text,
  service,
  shard: z.custom<number>(isShard),
  epoch: z.custom<number>(isEpoch),
  incarnation: text,
  address,
});

/** What a process says when it has become the owner of a shard. Source: architecture 3.4. */
export type ShardAnnouncement = Readonly<z.infer<typeof announcementSchema>>;

/** The subject of a service's heartbeats. */
export function heartbeatSubject(prefix: string, of: ShardedService): string {
  return `${prefix}.${of}.heartbeat`;
}

/** The subject of a service's shard announcements. */
export function announcementSubject(prefix: string, of: ShardedService): string {
  return `${prefix}.${of}.shard`;
}

/** JSON, so that `nats sub` shows it; about 12 bytes for a shard. */
export function encodeHeartbeat(heartbeat: Heartbeat): Uint8Array {
  return encode(heartbeat);
}

/** Undefined when it is anything but a heartbeat. Never throws. */
export function decodeHeartbeat(message: Uint8Array): Heartbeat | undefined {
  return heartbeatSchema.safeParse(decode(message)).data;
}

/** JSON, as heartbeats. */
export function encodeAnnouncement(announcement: ShardAnnouncement): Uint8Array {
  return encode(announcement);
}

/** Undefined when it is anything but an announcement. Never throws. */
export function decodeAnnouncement(message: Uint8Array): ShardAnnouncement | undefined {
  return announcementSchema.safeParse(decode(message)).data;
}

/** By hand: as a schema this took nine tenths of the time of reading a heartbeat. */
function areOwnedShards(value: unknown): value is OwnedShard[] {
  if (!Array.isArray(value) || value.length > SHARDS_MAX) return false;
  return value.every(
    (pair) => Array.isArray(pair) && pair.length === 2 && isShard(pair[0]) && isEpoch(pair[1]),
  );
}

function isShard(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < SHARDS_MAX;
}

function isEpoch(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

function encode(message: Heartbeat | ShardAnnouncement): Uint8Array {
  return encoder.encode(JSON.stringify(message));
}

function decode(message: Uint8Array): unknown {
  if (message.length > MESSAGE_BYTES_MAX) return undefined;
  try {
    return JSON.parse(decoder.decode(message));
  } catch {
    return undefined;
  }
}
