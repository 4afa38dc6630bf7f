/**
 * Cost of a call between two processes: 64 closed-loop callers over loopback, answers of 1,500
 * bytes. Prints calls per second and each process's CPU time per call. Source: architecture 5.
 *
 *   node bench/wire.ts
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineCall } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';

/** Callers of the reference load (architecture 8). */
const CALLERS = 64;
/** Bytes of a process answer, rounded up. */
const BODY_BYTES = 1_500;
const WARM_UP_MS = 2_000;
const MEASURED_MS = 4_000;

const answer = {
  body: JSON.stringify({ data: 'x'.repeat(BODY_BYTES) }),
  etag: '"snap_0123456789abcdef"',
  cycles: 1,
  throttledRetryAfterS: 0,
  isReplayed: false,
};
const admitted: LimiterAnswer = {
  verdict: 'admitted',
  allowance: {
    requestsPerMinute: 600,
    requestsRemaining: 599,
    windowResetAtS: 1_800_000_000,
    cyclesPerMonth: 1_000_000,
    cyclesRemaining: 999_999,
    monthResetAtS: 1_800_000_000,
    instances: 1_000,
  },
};

/**
 * Returns a function whose answers wait until the end of the event-loop turn, as in a group commit.
 */
function deferredAnswers() {
  let waiting: (() => void)[] = [];
  const release = (): void => {
    const released = waiting;
    waiting = [];
    for (const resolve of released) resolve();
  };
  return () =>
    new Promise<typeof answer>((resolve) => {
      if (waiting.push(() => resolve(answer)) === 1) setImmediate(release);
    });
}

async function serve(): Promise<void> {
  const held = deferredAnswers();
  const engine = frameService(engineProtocol, {
    ask: ({ isReplayOnly }) => (isReplayOnly ? answer : held()),
  });
  const limiter = frameService(limiterProtocol, { ask: () => admitted });
  const running = await serveGrpc({ listen: '127.0.0.1:0', services: [engine, limiter] });
  process.on('message', () => process.send?.(cpuMicros()));
  process.on('disconnect', () => process.exit());
  process.send?.(running.address);
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function cpuMicrosOf(server: ChildProcess): Promise<number> {
  server.send('cpu');
  const [micros] = await once(server, 'message');
  return micros;
}

async function measure(
  title: string,
  server: ChildProcess,
  ask: () => Promise<unknown>,
  callerCount = CALLERS,
): Promise<void> {
  let calls = 0;
  let isOver = false;
  const caller = async (): Promise<void> => {
    while (!isOver) {
      await ask();
      calls += 1;
    }
  };
  const callers = Array.from({ length: callerCount }, caller);
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  const before = { calls, client: cpuMicros(), server: await cpuMicrosOf(server) };
  const startedMs = performance.now();
  await new Promise((resolve) => setTimeout(resolve, MEASURED_MS));
  const seconds = (performance.now() - startedMs) / 1_000;
  const count = calls - before.calls;
  const client = (cpuMicros() - before.client) / count;
  const peer = ((await cpuMicrosOf(server)) - before.server) / count;
  isOver = true;
  await Promise.all(callers);
  const row = [
    title.padEnd(28),
    `${Math.round(count / seconds)}`.padStart(8),
    client.toFixed(1).padStart(10),
    peer.toFixed(1).padStart(10),
    (client + peer).toFixed(1).padStart(10),
  ];
  console.log(row.join(''));
}

async function main(): Promise<void> {
  const server = fork(import.meta.filename, ['serve']);
  const [address] = await once(server, 'message');
  await using engine = new FrameClient(engineProtocol, { address });
  await using limiter = new FrameClient(limiterProtocol, { address });
  await Promise.all([engine.ready(), limiter.ready()]);
  let callId = 0;
  const processCall = (isReplayOnly: boolean): EngineCall => {
    callId += 1;
    const observation = { mode: 2, signal: 0.4, confidence: 1, contextJson: '{}' };
    return {
      accountId: 'acct_0123456789abcdef',
      instanceId: 'inst_0123456789abcdef',
      callId: 3_141_592_653_589_793 + callId,
      deadlineAtMs: Date.now() + 10_000,
      idempotency: undefined,
      isReplayOnly,
      ifMatch: undefined,
      command: {
        kind: 'process',
        observations: [{ ...observation, timestampMs: undefined }],
        isBatch: false,
        isEveryStateWanted: false,
      },
    };
  };
  const admitCall = (): LimiterCall => {
    callId += 1;
    return {
      kind: 'admit',
      accountId: 'acct_0123456789abcdef',
      keyDigest: 'x'.repeat(43),
      callId: 3_141_592_653_589_793 + callId,
      callTag: 0,
      scope: 'full',
      cycles: 1,
    };
  };
  console.log(`${''.padEnd(28)} calls/s  µs client  µs server    µs both`);
  await measure('engine, answered at once', server, () => engine.ask(processCall(true)));
  await measure('engine, answered next turn', server, () => engine.ask(processCall(false)));
  await measure('limiter, admit', server, () => limiter.ask(admitCall()));
  await measure('engine, next turn, 4 callers', server, () => engine.ask(processCall(false)), 4);
  server.disconnect();
}

await (process.argv[2] === 'serve' ? serve() : main());
