import { z } from 'zod';
import { decodeJson, encodeJson } from '#cluster/json-message';
import { isHostPort } from '#stdlib/network';
import type { ShardedService } from '#storage/ports/cluster';

/** Shard that the sender owns, with the epoch of its ownership. */
export type OwnedShard = readonly [shard: number, epoch: number];

/** Maximum size of a message, in bytes. Enough for 4,096 shards with long epochs. */
const MESSAGE_BYTES_MAX = 64 * 1_024;

/** Maximum length of a name, an id or an address, in characters. A host name has at most 253. */
const TEXT_LENGTH_MAX = 300;

/** Maximum number of shards per service. A heartbeat has room for the list of all shards. */
const SHARDS_MAX = 4_096;

/** Maximum number of features of a process. */
const FEATURES_MAX = 32;

const text = z.string().min(1).max(TEXT_LENGTH_MAX);
/** Restricted to `host:port`, so that a heartbeat cannot direct connections elsewhere. */
const address = z.string().max(TEXT_LENGTH_MAX).refine(isHostPort);
const service = z.enum(['engine', 'limiter']);

// The schema drops unknown fields, so that a newer version can add fields.
const heartbeatSchema = z.object({
  /**
   * Id of the cluster, from the database. The id separates two clusters that share one NATS server.
   */
  cluster: text,
  service,
  /** Stable name of the node, which determines its place on the ring. */
  node: text,
  incarnation: text,
  /** `host:port` of the sender's gRPC server. */
  address,
  /**
   * Unix time of the start. If a node has two incarnations, the incarnation that started later is
   * used.
   */
  startedAtMs: z.int(),
  /** Release of the sender, for display. Absent before release 1.0.0. */
  release: z.string().max(TEXT_LENGTH_MAX).optional(),
  /** Abilities that a former release lacks, such as `model 1.1`. Absent: none. */
  features: z.array(text).max(FEATURES_MAX).readonly().optional(),
  /** The sender hands its shards off and takes none. */
  isLeaving: z.boolean(),
  /**
   * The sender's clock is wrong: the sender hands its shards off and takes none until the clock is
   * right.
   */
  isAside: z.boolean().optional(),
  /** Hash of the nodes that the sender sees. Equal for equal views. */
  viewHash: z.string().max(TEXT_LENGTH_MAX),
  shards: z.custom<readonly OwnedShard[]>(areOwnedShards),
  /** Shard count of the service. Processes that only route calls learn the count here. */
  shardCount: z.int().min(1).max(SHARDS_MAX),
});

/** Heartbeat that every process of a sharded service sends each second. Source: architecture 3. */
export type Heartbeat = Readonly<z.infer<typeof heartbeatSchema>>;

const announcementSchema = z.object({
  cluster: text,
  service,
  shard: z.custom<number>(isShard),
  epoch: z.custom<number>(isEpoch),
  incarnation: text,
  address,
});

/** Announcement of a new shard owner. Source: architecture 3.4. */
export type ShardAnnouncement = Readonly<z.infer<typeof announcementSchema>>;

/** Subject of a service's heartbeats. */
export function heartbeatSubject(prefix: string, of: ShardedService): string {
  return `${prefix}.${of}.heartbeat`;
}

/** Subject of a service's shard announcements. */
export function announcementSubject(prefix: string, of: ShardedService): string {
  return `${prefix}.${of}.shard`;
}

/** Encodes a heartbeat as JSON, readable with `nats sub`. A shard takes about 12 bytes. */
export function encodeHeartbeat(heartbeat: Heartbeat): Uint8Array {
  return encodeJson(heartbeat);
}

/** Decodes a heartbeat. Returns undefined for anything else. Never throws. */
export function decodeHeartbeat(message: Uint8Array): Heartbeat | undefined {
  return heartbeatSchema.safeParse(decodeJson(message, MESSAGE_BYTES_MAX)).data;
}

/** Encodes an announcement as JSON. */
export function encodeAnnouncement(announcement: ShardAnnouncement): Uint8Array {
  return encodeJson(announcement);
}

/** Decodes an announcement. Returns undefined for anything else. Never throws. */
export function decodeAnnouncement(message: Uint8Array): ShardAnnouncement | undefined {
  return announcementSchema.safeParse(decodeJson(message, MESSAGE_BYTES_MAX)).data;
}

/** Hand-written, because a zod schema for shards took 90 % of the time of reading a heartbeat. */
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
