import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '#test/support/caller';
import { startClocked } from '#test/support/clocked-service';
import { dial, type RawConnection, requestText } from '#test/support/raw-http';

const NOW_MS = Date.UTC(2026, 0, 15);

/** Long enough for any of these tests, so that what ends earlier was not cut off. */
const DRAIN_MS = 5_000;

/** An edge with two kept connections, that begins to close. */
async function closingEdge(drainMs: number) {
  const { service } = await startClocked(NOW_MS, drainMs);
  const { key } = await newCaller(service);
  const ask = requestText('GET', '/v1/personas', [`Authorization: Bearer ${key}`]);
  const kept = [await dial(service), await dial(service)] as const;
  for (const connection of kept) await served(connection, ask);
  const startedMs = performance.now();
  const closed = service[Symbol.asyncDispose]().then(() => performance.now() - startedMs);
  return { service, kept, ask, closed };
}

/** What an answered request says of its connection. */
async function served(connection: RawConnection, ask: string): Promise<string | null | undefined> {
  connection.write(ask);
  const answer = await connection.next();
  assert.is(answer?.status, 200);
  return answer?.headers.get('connection');
}

const draining = suite('an edge that is told to stop');

draining(
  'serves those it knows once more, closes behind the answer, and ends with them',
  async () => {
    const { kept, ask, closed } = await closingEdge(DRAIN_MS);
    for (const connection of kept) {
      assert.is(await served(connection, ask), 'close');
      await connection.ended();
    }
    const tookMs = await closed;
    assert.ok(tookMs < DRAIN_MS, `${tookMs} ms`);
  },
);

draining('still serves who connects meanwhile', async () => {
  const { service, kept, ask, closed } = await closingEdge(DRAIN_MS);
  const late = await dial(service);
  assert.is(await served(late, ask), 'close');
  for (const connection of kept) connection.socket.destroy();
  await closed;
});

draining('waits no longer than it was told for those who say nothing', async () => {
  const { kept, closed } = await closingEdge(400);
  for (const connection of kept) await connection.ended();
  const tookMs = await closed;
  assert.ok(tookMs >= 390 && tookMs < DRAIN_MS, `${tookMs} ms`);
});

draining.run();
