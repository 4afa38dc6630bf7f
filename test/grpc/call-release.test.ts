import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DEADLINE_SWEEP_MS } from '#grpc/call-bounds';
import { engineProtocol } from '#grpc/engine-codec';
import { FrameClient } from '#grpc/frame-client';
import * as peers from '#test/grpc/wire-peers';
import { ManualClock } from '#test/support/manual-clock';

/**
 * Number of 4 kB calls that do not fit into the buffers of a stream: 16 frames of 256 KiB and one
 * flow-control window.
 */
const BLOCKING_CALLS = 2_400;
const CALL_BYTES = 4_000;

/**
 * Maximum number of a client's unanswered calls. A client keeps at most twice as many unsent calls.
 */
const CALLS_MAX = 2_500;

const blocked = suite('when a peer does not read');

blocked('unsent calls end at their deadline and free their slots, even 5,000 of them', async () => {
  let read = (): void => undefined;
  const server = await peers.rawEngine((stream) => {
    read = () => {
      stream.on('data', () => undefined);
      stream.end();
    };
  });
  await using _server = server;
  const clock = new ManualClock();
  await using edge = new FrameClient(engineProtocol, {
    address: server.address,
    clock,
    callsInFlightMax: CALLS_MAX,
  });
  await edge.ready();
  const blocking = Array.from({ length: BLOCKING_CALLS }, () =>
    peers.faultOf(edge.ask(peers.largeCall(CALL_BYTES))),
  );
  await peers.endOfTurn();
  for (let unsent = 0; unsent < 2 * CALLS_MAX; unsent += 100) {
    const hasty = Array.from({ length: 100 }, () =>
      peers.faultOf(edge.ask(peers.engineCall({ deadlineAtMs: clock.wallMs() + 25 }))),
    );
    clock.advance(25 + DEADLINE_SWEEP_MS);
    const verdicts = new Set((await Promise.all(hasty)).map(peers.verdictOf));
    assert.equal([...verdicts], ['service_unavailable engine_unavailable known']);
  }
  read();
  await Promise.all(blocking);
});

blocked.run();
