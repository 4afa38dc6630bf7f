import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { decodeRecord, linesOf } from '#actor-runtime/record-codec';
import { busKeyOf, openMessage } from '#bus/envelope';
import { decodeAnnouncement, decodeHeartbeat } from '#cluster/heartbeat';
import { ExportLine } from '#ctl/export/schema';
import { engineProtocol } from '#grpc/engine-codec';
import { readFrame } from '#grpc/frame';
import {
  answerOf,
  type FrameProtocol,
  type WireReply,
  type WireRequest,
} from '#grpc/frame-protocol';
import * as admin from '#grpc/gen/identity_engine/v1/admin';
import { limiterProtocol } from '#grpc/limiter-codec';
import { decodeAnswerRow } from '#storage/ports/answer-rows';
import { decodeChunk, newestRows } from '#storage/ports/chunks';
import { decodeFeedChunk, decodeFeedHead } from '#storage/ports/feed-codec';
import { decodeHead } from '#storage/ports/head-codec';
import type { Chunk, DriftRow, HistoryRow } from '#storage/ports/instances';
import { decodeMeter, meterOfRow } from '#storage/ports/meter-codec';
import { DRIFT_EVENTS, OBSERVATIONS, type RowReading, unpacked } from '#storage/ports/rows';
import { thrownBy } from '#test/grpc/codec-crossing';
import { SOURCING } from '#test/release/sample-instances';

/** Store key of some bytes. Decoding the bytes may need values from the key. */
export type FixtureKey = Readonly<Record<string, string | number>>;

/** Secret that signs the messages of the fixtures. */
export const FIXTURE_SECRET = 'the secret of a fixture of a release';

type Read = (bytes: Buffer, key: FixtureKey) => unknown;

/** Decoders by kind. `key` is the store key of the bytes. */
export const FIXTURE_KINDS: Readonly<Record<string, Read>> = {
  journal: (bytes) => linesOf(bytes).map(decodeRecord).map(readEvent),
  heads(bytes, key) {
    const id = text(key, 'instance');
    const { newestHistory, newestDrift, ...head } = decodeHead(id, bytes);
    const history = newestRows(OBSERVATIONS, id, newestHistory, head.historyCount);
    return { ...head, history, drift: newestRows(DRIFT_EVENTS, id, newestDrift, head.driftCount) };
  },
  history: (bytes, key) => chunkRows<HistoryRow>(OBSERVATIONS, bytes, key),
  drift: (bytes, key) => chunkRows<DriftRow>(DRIFT_EVENTS, bytes, key),
  answers: (bytes, key) => decodeAnswerRow(text(key, 'instance'), text(key, 'key'), bytes),
  meters: (bytes, key) => decodeMeter(text(key, 'account'), bytes),
  feeds: (bytes, key) => decodeFeedHead(text(key, 'account'), bytes),
  'feed-chunks': (bytes, key) => decodeFeedChunk(text(key, 'account'), Number(key['chunk']), bytes),
  bus(bytes, key) {
    const opened = openMessage([busKeyOf(FIXTURE_SECRET)], text(key, 'subject'), bytes);
    if (opened.kind !== 'signed') return opened.kind;
    const { envelope, content } = opened;
    return { envelope, said: heard(text(key, 'subject'), content) };
  },
  'engine-requests': (bytes) => requests(engineProtocol, bytes),
  'engine-replies': (bytes) => replies(engineProtocol, bytes),
  'limiter-requests': (bytes) => requests(limiterProtocol, bytes),
  'limiter-replies': (bytes) => replies(limiterProtocol, bytes),
  'export-lines': (bytes) => ExportLine.parse(JSON.parse(bytes.toString())),
  admin: (bytes, key) => ADMIN[text(key, 'message')]?.decode(bytes),
};

/** Admin messages by name. */
const ADMIN: Readonly<
  Record<string, { decode(bytes: Uint8Array): unknown; encode(message: never): BinaryWriter }>
> = {
  IdentifyReply: admin.IdentifyReply,
  DrainReply: admin.DrainReply,
  ReadInstanceRequest: admin.ReadInstanceRequest,
  ReadInstanceReply: admin.ReadInstanceReply,
  UsageRequest: admin.UsageRequest,
  UsageReply: admin.UsageReply,
};

/** Converts a value to JSON: base64 for bytes, lists for vectors, no undefined fields. */
export function plainJson(value: unknown): unknown {
  const json = JSON.stringify(value, function plain(this: Record<string, unknown>, name, one) {
    const original = this[name];
    if (original instanceof Float64Array) return [...original];
    if (original instanceof Uint8Array) return Buffer.from(original).toString('base64');
    return one;
  });
  return json === undefined ? undefined : JSON.parse(json);
}

function readEvent({ event, ...record }: ReturnType<typeof decodeRecord>) {
  const read = record.actor === 'meter' ? meterOfRow(event) : SOURCING.read(event);
  return { ...record, event: read };
}

function chunkRows<Row>(reading: RowReading<Row>, bytes: Buffer, key: FixtureKey): Row[] {
  const id = text(key, 'instance');
  const { first, last, rows }: Chunk = decodeChunk(reading.name, id, Number(key['last']), bytes);
  return unpacked(reading, id, rows, first, last);
}

function heard(subject: string, content: Uint8Array): unknown {
  if (subject.endsWith('.heartbeat')) return decodeHeartbeat(content);
  if (subject.endsWith('.shard')) return decodeAnnouncement(content);
  return Buffer.from(content).toString('latin1');
}

function requests<Call extends object, Request extends WireRequest>(
  protocol: Pick<FrameProtocol<Call, never, Request, never>, 'request' | 'callOf'>,
  frame: Uint8Array,
): unknown[] {
  const read: unknown[] = [];
  readFrame(frame, (reader, length) => {
    const request = protocol.request.decode(reader, length);
    const { id, timeoutMs } = request;
    read.push({ id, timeoutMs, call: protocol.callOf(request, 0) });
  });
  return read;
}

function replies<Answer, WireAnswer>(
  protocol: {
    readonly reply: { decode(reader: BinaryReader, length: number): WireReply<WireAnswer> };
    answerFromWire(answer: WireAnswer): Answer;
  },
  frame: Uint8Array,
): unknown[] {
  const read: unknown[] = [];
  readFrame(frame, (reader, length) => {
    const reply = protocol.reply.decode(reader, length);
    const { id, outcome } = reply;
    const isFault = outcome?.$case === 'fault';
    if (isFault) read.push({ id, fault: thrownBy(() => answerOf(protocol, reply)) });
    else read.push({ id, answer: answerOf(protocol, reply) });
  });
  return read;
}

function text(key: FixtureKey, name: string): string {
  return String(key[name]);
}
