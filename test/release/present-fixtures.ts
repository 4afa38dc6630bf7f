import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { encodeGroup, encodeRecord } from '#actor-runtime/record-codec';
import { busKeyOf, sealMessage } from '#bus/envelope';
import type { SenderKey } from '#bus/sender-key';
import { encodeAnnouncement, encodeHeartbeat, type Heartbeat } from '#cluster/heartbeat';
import { REPLY_FRAME_BYTES_MAX } from '#grpc/call-bounds';
import { engineProtocol } from '#grpc/engine-codec';
import { FrameWriter, faultToWire } from '#grpc/frame';
import type { FrameProtocol, WireReply, WireRequest } from '#grpc/frame-protocol';
import * as admin from '#grpc/gen/identity_engine/v1/admin';
import { limiterProtocol } from '#grpc/limiter-codec';
import { encodeAnswerRow } from '#storage/ports/answer-rows';
import { encodeChunk } from '#storage/ports/chunks';
import { encodeFeedChunk, encodeFeedHead } from '#storage/ports/feed-codec';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { encodeHead } from '#storage/ports/head-codec';
import { encodeMeter } from '#storage/ports/meter-codec';
import { FIXTURE_SECRET, type FixtureKey } from '#test/release/fixture-kinds';
import {
  sampleEngineAnswers,
  sampleEngineCalls,
  sampleFaults,
  sampleLimiterAnswers,
  sampleLimiterCalls,
} from '#test/release/sample-calls';
import { sampleExportLines } from '#test/release/sample-export';
import { sampleInstances } from '#test/release/sample-instances';
import { recordOfMeter, sampleMeters } from '#test/release/sample-meters';
import { feedCheckpoint } from '#test/storage/contracts/feed-records';

/** Bytes written by this program, with their store key. */
export type Written = { readonly key: FixtureKey; readonly bytes: Uint8Array };

/** Records per group in the fixture journal. */
const GROUP_RECORDS = 16;

const TIMEOUT_MS = 1_234;

/** PKCS 8 prefix of a 32-byte Ed25519 key (RFC 8410). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * All bytes that this program writes for other nodes or later versions, by kind. Deterministic.
 */
export function presentFixtures(): Readonly<Record<string, readonly Written[]>> {
  return { ...stored(), ...captured(), admin: administration(), bus: announced() };
}

function stored(): Record<string, readonly Written[]> {
  const instances = sampleInstances();
  const meters = sampleMeters();
  const feed = feedCheckpoint('Acc0unt00001', 3, 4 * FEED_CHUNK_ROWS + 2, { firstChunk: 3 });
  const records = [
    ...instances.flatMap((instance) => instance.records),
    ...meters.map(({ accountId, head }) => recordOfMeter(accountId, head)),
  ].map(encodeRecord);
  const groups = Array.from({ length: Math.ceil(records.length / GROUP_RECORDS) }, (_, at) =>
    records.slice(at * GROUP_RECORDS, (at + 1) * GROUP_RECORDS),
  );
  const chunksOf = (kind: 'history' | 'drift') =>
    instances.flatMap(({ instanceId, checkpoint }) =>
      checkpoint[kind].map((chunk) => ({
        key: { instance: instanceId, last: chunk.last },
        bytes: encodeChunk(chunk),
      })),
    );
  return {
    journal: groups.map((lines, slot) => ({ key: { slot }, bytes: encodeGroup(lines) })),
    heads: instances.map(({ instanceId, checkpoint }) => ({
      key: { instance: instanceId },
      bytes: encodeHead(checkpoint.head),
    })),
    history: chunksOf('history'),
    drift: chunksOf('drift'),
    answers: instances.flatMap(({ instanceId, checkpoint }) =>
      checkpoint.answers.map((row) => ({
        key: { instance: instanceId, key: row.key },
        bytes: encodeAnswerRow(row),
      })),
    ),
    meters: meters.map(({ accountId, head }) => ({
      key: { account: accountId },
      bytes: encodeMeter(head),
    })),
    feeds: [{ key: { account: feed.accountId }, bytes: encodeFeedHead(feed.head) }],
    'feed-chunks': feed.chunks.map((chunk) => ({
      key: { account: feed.accountId, chunk: chunk.chunk },
      bytes: encodeFeedChunk(chunk),
    })),
    'export-lines': sampleExportLines().map((text, line) => ({
      key: { line },
      bytes: Buffer.from(text),
    })),
  };
}

function captured(): Record<string, readonly Written[]> {
  return {
    'engine-requests': requestFrames(engineProtocol, sampleEngineCalls()),
    'engine-replies': replyFrames(engineProtocol, sampleEngineAnswers()),
    'limiter-requests': requestFrames(limiterProtocol, sampleLimiterCalls()),
    'limiter-replies': replyFrames(limiterProtocol, sampleLimiterAnswers()),
  };
}

/** Frames from a client. */
function requestFrames<Call extends { traceparent?: string }, Request extends WireRequest>(
  protocol: Pick<FrameProtocol<Call, never, Request, never>, 'request' | 'requestOf'>,
  calls: readonly Call[],
): Written[] {
  return framesOf(calls, (call, id, writer) =>
    protocol.request.encode(protocol.requestOf(id, TIMEOUT_MS, call), writer),
  );
}

/** Frames from a server: answers, then every kind of refusal. */
function replyFrames<Answer, WireAnswer>(
  protocol: {
    readonly reply: {
      encode(message: WireReply<WireAnswer>, writer: BinaryWriter): BinaryWriter;
    };
    answerToWire(answer: Answer): WireAnswer;
  },
  answers: readonly Answer[],
): Written[] {
  const outcomes: NonNullable<WireReply<WireAnswer>['outcome']>[] = [
    ...answers.map(
      (answer) => ({ $case: 'answer', value: protocol.answerToWire(answer) }) as const,
    ),
    ...sampleFaults().map((fault) => ({ $case: 'fault', value: faultToWire(fault) }) as const),
  ];
  return framesOf(outcomes, (outcome, id, writer) =>
    protocol.reply.encode({ id, outcome }, writer),
  );
}

function framesOf<Message>(
  messages: readonly Message[],
  write: (message: Message, id: number, writer: BinaryWriter) => BinaryWriter,
): Written[] {
  const frames: Written[] = [];
  const numbered = messages.map((message, index) => ({ message, id: index + 1 }));
  const writer = new FrameWriter<(typeof numbered)[number]>({
    frameBytesMax: REPLY_FRAME_BYTES_MAX,
    isWanted: () => true,
    sizeOf: () => 0,
    write: (into, { message, id }) => void write(message, id, into),
    refuse(_, error) {
      throw error;
    },
  });
  const keep = (bytes: Buffer): void => {
    frames.push({ key: { frame: frames.length }, bytes: Buffer.from(bytes) });
  };
  for (let next = 0; next < numbered.length; ) next = writer.write(numbered, next, keep);
  return frames;
}

function administration(): Written[] {
  const observed = { mode: 2, signal: 1 / 3, confidence: 1, timestampMs: 1_768_478_400_000 };
  const unstoredCycles = [{ ...observed, generation: 2, cycle: 6 }];
  const active = { version: 9, generation: 2, cycle: 6, unstoredCycles };
  const usage = {
    requestsPerMinute: 300,
    cyclesPerMonth: 1_000_000_000_000,
    requestsInWindow: 3,
    windowResetAtS: 1_768_478_460,
    cyclesUsed: 2 ** 40,
    cyclesReserved: 20,
    monthResetAtS: 1_769_904_000,
    monthMark: 2 ** 41,
    windowMark: 64,
    cyclesExpired: 5,
    cyclesLost: 7,
    cyclesByDay: [],
    keys: [],
    finishedMonths: [],
  };
  const incarnation = 'engine-1.00112233';
  const written = {
    IdentifyReply: admin.IdentifyReply.encode({ incarnation, caller: '10.0.0.7:40312' }),
    DrainReply: admin.DrainReply.encode({ incarnation, openShards: 3 }),
    ReadInstanceRequest: admin.ReadInstanceRequest.encode({ instanceId: 'inst_00000000000000aa' }),
    ReadInstanceReply: admin.ReadInstanceReply.encode({ incarnation, served: true, active }),
    UsageRequest: admin.UsageRequest.encode({ accountId: 'Acc0unt00001' }),
    UsageReply: admin.UsageReply.encode({ usage }),
  };
  return Object.entries(written).map(([message, writer]) => ({
    key: { message },
    bytes: writer.finish(),
  }));
}

/** Bus messages, signed with a fixed key. */
function announced(): Written[] {
  const sender = fixedSender();
  const incarnation = `${sender.name.slice(0, 16)}0011`;
  const address = '10.0.0.7:8100';
  const cluster = 'c0ffee';
  const sharded = { cluster, incarnation, address };
  const heartbeat: Heartbeat = {
    ...sharded,
    service: 'engine',
    node: 'engine-1',
    startedAtMs: 1_768_478_400_000,
    isLeaving: false,
    isAside: false,
    viewHash: '0011aabb',
    shards: [
      [0, 1],
      [255, 2 ** 40],
    ],
    shardCount: 256,
  };
  const shard = { ...sharded, service: 'limiter', shard: 7, epoch: 9 } as const;
  const said: readonly (readonly [string, Uint8Array])[] = [
    ['engine.heartbeat', encodeHeartbeat(heartbeat)],
    ['limiter.shard', encodeAnnouncement(shard)],
    ['engine.suspicion', Buffer.from(incarnation)],
    ['accounts', Buffer.from(`${cluster} Acc0unt00001`)],
  ];
  return said.map(([name, content], index) => {
    const subject = `identity-engine.${name}`;
    const macKey = busKeyOf(FIXTURE_SECRET);
    const envelope = { cluster, sequence: index + 1, sentAtMs: 1_768_478_400_000 + index };
    return { key: { subject }, bytes: sealMessage({ macKey, sender }, subject, envelope, content) };
  });
}

/** A fixed key, for deterministic signatures. */
function fixedSender(): SenderKey {
  const key = Buffer.concat([ED25519_PKCS8, Buffer.alloc(32, 7)]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const name = Buffer.from(x, 'base64url').toString('hex');
  return { name, sign: (bytes) => sign(null, bytes, privateKey) };
}
