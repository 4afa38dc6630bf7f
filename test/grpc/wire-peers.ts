import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { type EngineAnswer, type EngineCall, plainAnswer } from '#grpc/engine-messages';
import {
  EngineReplyFrame,
  EngineRequest,
  EngineRequestFrame,
  EngineService,
} from '#grpc/gen/identity_engine/v1/engine';
import { type Clock, systemClock } from '#stdlib/clock';
import { plainCall } from '#test/support/calls/engine-calls';
import { soon } from '#test/support/soon';

/** Maximum time that a test waits for an expected event, in milliseconds. */
const PATIENCE_MS = 20_000;

/** Fulfils when `condition` holds. Fails the test after `PATIENCE_MS`. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  await soon(what, condition, { withinMs: PATIENCE_MS, everyMs: 1 });
}

/** Fulfils when all messages of this event-loop turn have been written. */
export async function endOfTurn(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A call that reads a snapshot. `change` replaces the fields under test. */
export function engineCall(change: Partial<EngineCall> = {}): EngineCall {
  return plainCall({
    accountId: 'acct_1',
    instanceId: 'inst_1',
    callId: 1,
    deadlineAtMs: Date.now() + 10_000,
    command: { kind: 'readSnapshot' },
    ...change,
  });
}

/** Trace fields of a request without tracing. */
export const NO_TRACE = { traceparent: '' };

/** A call of about `bytes` bytes. */
export function largeCall(bytes: number): EngineCall {
  return engineCall({ command: { kind: 'create', ...INSTANCE, description: 'x'.repeat(bytes) } });
}

const INSTANCE = { name: 'a', modeStrengths: Array<number>(7).fill(0.5), energyLevel: 0.5 };

/** An answer with the given body. */
export function engineAnswer(body: string): EngineAnswer {
  return plainAnswer(body);
}

/** The body of an answer as text. */
export function bodyOf(answer: EngineAnswer): string {
  return Buffer.from(answer.body).toString();
}

/** Returns the fault with which the call ends. Throws if the call is answered. */
export async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const error = await call.then(
    () => new Error('the call was answered instead of refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof Fault) return error;
  throw error;
}

/** Formats the properties of a fault that decide whether a call is repeated. */
export function verdictOf(fault: Fault | undefined): string {
  if (fault === undefined) return 'no fault';
  return `${fault.code} ${fault.reason} ${fault.isOutcomeUnknown ? 'unknown' : 'known'}`;
}

/** A clock that divides every delay by `factor`, and records the requested delays. */
export function hurriedClock(factor: number): Clock & { readonly delaysMs: number[] } {
  const delaysMs: number[] = [];
  return {
    ...systemClock,
    delaysMs,
    after(delayMs, task) {
      delaysMs.push(delayMs);
      return systemClock.after(delayMs / factor, task);
    },
  };
}

type RawStream = grpc.ServerDuplexStream<Buffer, Buffer>;

/**
 * A gRPC server for the stream method of engines. Runs `onStream` with each stream of raw frames.
 */
export async function rawEngine(
  onStream: (stream: RawStream) => void,
  { path = EngineService.exchange.path as string } = {},
) {
  const server = new grpc.Server({ 'grpc.max_send_message_length': -1 });
  const asIs = (bytes: Buffer): Buffer => bytes;
  const exchange = {
    ...EngineService.exchange,
    path,
    requestDeserialize: asIs,
    requestSerialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  server.addService({ exchange }, { exchange: greeted(onStream) });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
    if (error === null) resolve(port);
    else reject(error);
  });
  return {
    address: `127.0.0.1:${await promise}`,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

function greeted(onStream: (stream: RawStream) => void) {
  return (stream: RawStream): void => {
    stream.on('error', () => undefined);
    stream.sendMetadata(new grpc.Metadata());
    onStream(stream);
  };
}

/** A gRPC client for the stream method of engines, with a stream of raw frames. */
export function rawEdge(address: string) {
  const client = new grpc.Client(address, grpc.credentials.createInsecure());
  const asIs = (bytes: Buffer): Buffer => bytes;
  const stream = client.makeBidiStreamRequest(EngineService.exchange.path, asIs, asIs);
  const status = Promise.withResolvers<number>();
  stream.on('error', () => undefined);
  stream.on('status', (end: grpc.StatusObject) => status.resolve(end.code));
  return {
    stream,
    /** The gRPC status with which the stream ends. */
    status: status.promise,
    [Symbol.dispose]() {
      stream.cancel();
      client.close();
    },
  };
}

/** A valid request as an edge would write it. */
export function wireRequest(change: Partial<EngineRequest>): EngineRequest {
  return {
    ...EngineRequest.decode(new Uint8Array(0)),
    timeoutMs: 5_000,
    accountId: 'acct_1',
    instanceId: 'inst_1',
    command: { $case: 'readSnapshot', value: {} },
    ...change,
  };
}

/** One frame of requests. */
export function requestFrame(...messages: EngineRequest[]): Buffer {
  return Buffer.from(EngineRequestFrame.encode({ messages }).finish());
}

/** One frame of answers, each given as call id and body. */
export function replyFrame(...replies: [id: number, body: string][]): Buffer {
  const rest = { etag: '', cycles: 0, throttledRetryAfterS: 0, replayed: false, cursor: undefined };
  const messages = replies.map(([id, body]) => {
    const value = { ...rest, body: Buffer.from(body) };
    return { id, outcome: { $case: 'answer' as const, value } };
  });
  return Buffer.from(EngineReplyFrame.encode({ messages }).finish());
}

/** Starts a TCP server on a free port. Its disposal also ends all connections. */
export async function tcpServer(server: Server): Promise<AsyncDisposable & { address: string }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Waits until the edge is connected, then asserts that a call is answered. */
export async function isAnsweredInTheEnd(edge: {
  ready(): Promise<void>;
  ask(call: EngineCall): Promise<EngineAnswer>;
}): Promise<void> {
  await edge.ready();
  assert.is(bodyOf(await edge.ask(engineCall())), 'ok');
}
