import { getEventListeners } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as peers from '#test/wire/wire-peers';
import { connectEngine } from '#wire/engine-connection';
import { engineServer } from '#wire/engine-server';
import { serveGrpc } from '#wire/grpc-server';

/** More calls of 4 kB than the stream's own buffers take: 16 frames of 256 KiB and a window. */
const BLOCKING_CALLS = 2_400;
const CALL_BYTES = 4_000;

/** Calls that a client may have without an answer; it remembers at most twice as many unsent. */
const CALLS_MAX = 2_500;

const heard = suite('a signal that outlives its calls');

heard('is listened to by those that are under way, and by none that has ended', async () => {
  const answers: (() => void)[] = [];
  const engine = {
    ask: () =>
      new Promise<ReturnType<typeof peers.engineAnswer>>((resolve) => {
        answers.push(() => resolve(peers.engineAnswer('ok')));
      }),
  };
  const services = [engineServer(engine)];
  await using server = await serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 100 });
  await using edge = connectEngine({ address: server.address });
  await edge.ready();
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, 'abort').length;
  const answered = [1, 2, 3].map(() => edge.ask(peers.engineCall(), { signal }));
  const hasty = peers.engineCall({ deadlineAtMs: Date.now() + 50 });
  const failing = peers.faultOf(edge.ask(hasty, { signal }));
  assert.is(listeners(), 4);
  await failing;
  assert.is(listeners(), 3, 'one has run out of time');
  await peers.eventually('all are at work', () => answers.length === 4);
  for (const answer of answers) answer();
  await Promise.all(answered);
  assert.is(listeners(), 0);
});

const blocked = suite('when a peer does not read');

blocked('calls that ran out of time unsent are forgotten, however many they were', async () => {
  let read = (): void => undefined;
  const server = await peers.rawEngine((stream) => {
    read = () => {
      stream.on('data', () => undefined);
      stream.end();
    };
  });
  await using _server = server;
  await using edge = connectEngine({ address: server.address, callsInFlightMax: CALLS_MAX });
  await edge.ready();
  const blocking = Array.from({ length: BLOCKING_CALLS }, () =>
    peers.faultOf(edge.ask(peers.largeCall(CALL_BYTES))),
  );
  await peers.endOfTurn();
  for (let unsent = 0; unsent < 2 * CALLS_MAX; unsent += 100) {
    const hasty = Array.from({ length: 100 }, () =>
      peers.faultOf(edge.ask(peers.engineCall({ deadlineAtMs: Date.now() + 5 }))),
    );
    const verdicts = new Set((await Promise.all(hasty)).map(peers.verdictOf));
    assert.equal([...verdicts], ['service_unavailable engine_unavailable known']);
  }
  read();
  await Promise.all(blocking);
});

for (const each of [heard, blocked]) each.run();
