import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineCall } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { EngineRequestFrame } from '#grpc/gen/identity_engine/v1/engine';
import { serveGrpc } from '#grpc/grpc-server';
import { traceFields, traceparentOf } from '#telemetry/tracer';
import * as peers from '#test/grpc/wire-peers';
import { RecordedSpans, recordedSpan } from '#test/support/recorded-spans';

const TRACE_ID = '00f7651916cd43dd8448eb21ffffffff';
const UNRECORDED = traceparentOf(TRACE_ID, 'b7ad6b7169203331', false);

/** An engine that records calls and reported bugs. It fails every call. */
async function openFailingEngine() {
  const heard: EngineCall[] = [];
  const bugs: object[] = [];
  const ask = (call: EngineCall) => {
    heard.push(call);
    throw new Error('a bug');
  };
  const reportBug = (_: unknown, traceparent?: string) => bugs.push(traceFields(traceparent));
  const service = frameService(engineProtocol, { ask }, { reportBug, tracer: new RecordedSpans() });
  const server = await serveGrpc({ listen: '127.0.0.1:0', services: [service], stopGraceMs: 100 });
  const close = () => server[Symbol.asyncDispose]();
  return { heard, bugs, address: server.address, [Symbol.asyncDispose]: close };
}

async function askOne(address: string, change: Partial<EngineCall>): Promise<void> {
  await using edge = new FrameClient(engineProtocol, { address });
  await edge.ready();
  await peers.faultOf(edge.ask(peers.engineCall(change)));
}

const one = suite('a call between processes');

one('of an unrecorded trace names the trace in log lines, also after a second hop', async () => {
  await using engine = await openFailingEngine();
  await askOne(engine.address, { traceparent: UNRECORDED });
  const [first] = engine.heard;
  await askOne(engine.address, { traceparent: first?.traceparent ?? '' });
  assert.equal(engine.bugs, [{ trace_id: TRACE_ID }, { trace_id: TRACE_ID }]);
});

one('of a recorded trace has its own span in log lines', async () => {
  await using engine = await openFailingEngine();
  await askOne(engine.address, { traceparent: recordedSpan(7) });
  assert.equal(engine.bugs, [traceFields(recordedSpan(1_001))]);
});

one('without a trace has none at the receiver', async () => {
  await using engine = await openFailingEngine();
  await askOne(engine.address, {});
  assert.equal(engine.bugs, [{}]);
  assert.is(engine.heard[0]?.traceparent, undefined);
});

one('of an unrecorded trace sends bytes, which an older release skips', async () => {
  const sent: string[] = [];
  await using engine = await peers.rawEngine((stream) => {
    stream.on('data', (frame: Buffer) => {
      const [request] = EngineRequestFrame.decode(frame).messages;
      const { traceId = [], traceparent } = request ?? {};
      sent.push(`${traceparent} ${Buffer.from(traceId).toString('hex')}`);
      stream.end();
    });
  });
  await askOne(engine.address, { traceparent: UNRECORDED });
  assert.equal(sent, [` ${TRACE_ID}`]);
});

one.run();
