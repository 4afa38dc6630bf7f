import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Chance } from '#test/chaos/faults/chance';
import { CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import { outcomeOf } from '#test/chaos/load/outcome-of';
import { soon } from '#test/support/soon';

const ACCOUNTS = [{ accountId: 'Acc0unt00001', apiKey: 'a key' }];

/** Starts an edge that answers creates immediately, but all other calls only after `release`. */
async function slowEdge() {
  const held: ServerResponse[] = [];
  let created = 0;
  let isHolding = true;
  const refuse = (response: ServerResponse) =>
    response.writeHead(422).end('{"error":"invalid_request"}');
  const server = createServer((request, response) => {
    request.resume();
    if (request.url !== '/v1/instances') {
      return void (isHolding ? held.push(response) : refuse(response));
    }
    created += 1;
    const id = `inst_${created.toString(16).padStart(16, '0')}`;
    response.writeHead(201).end(JSON.stringify({ data: { id } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    held,
    /** Refuses all waiting and later calls. */
    release() {
      isHolding = false;
      for (const response of held) refuse(response);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const stalled = suite('the chaos load');

stalled('keeps its rate while the service gives no answers', async () => {
  await using edge = await slowEdge();
  using caller = new EdgeCaller([edge.url]);
  const log = new CallLog();
  const load = new Load({ log, caller, accounts: ACCOUNTS, chance: new Chance(1) });
  await load.prepare(10);
  const running = load.run(200);
  // A closed-model load would wait for answers and send no 51st call.
  await soon('the 51st call', () => edge.held.length > 50, { withinMs: 2_000 });
  const ended = load.stop();
  edge.release();
  await Promise.all([ended, running]);
  assert.ok(log.calls.every(({ endMs }) => endMs !== Number.POSITIVE_INFINITY));
  assert.ok(log.calls.some(({ outcome }) => outcome.kind === 'refused'));
});

stalled('sends a call to another edge if an edge accepts no connection', async () => {
  await using edge = await slowEdge();
  using caller = new EdgeCaller(['http://127.0.0.1:1', edge.url]);
  const asked = { method: 'POST', path: '/instances', apiKey: '', body: {} } as const;
  const answers = await Promise.all([1, 2, 3, 4].map(() => caller.send(asked)));
  assert.equal(
    answers.map(({ kind }) => kind),
    ['answer', 'answer', 'answer', 'answer'],
  );
});

const meaning = suite('the logged outcome');

const answered = (status: number, body: object, isThrottled = false) =>
  outcomeOf({ kind: 'answer', status, body: JSON.stringify(body), etag: '"e"', isThrottled }).kind;
const refusal = (error: string, reason?: string) => ({
  error,
  ...(reason === undefined ? {} : { details: { reason } }),
});

meaning('follows from the status, the error and the reason of the answer', () => {
  assert.is(answered(200, { data: { cycle: 3 } }), 'acknowledged');
  assert.is(answered(200, { data: {} }, true), 'throttled');
  assert.is(answered(503, refusal('service_unavailable', 'outcome_unknown')), 'superseded');
  assert.is(answered(404, refusal('not_found')), 'refused');
  assert.is(answered(503, refusal('service_unavailable', 'limiter_unavailable')), 'refused');
  assert.is(answered(503, refusal('service_unavailable', 'engine_unavailable')), 'unknown');
  assert.is(answered(500, refusal('internal')), 'unknown');
  assert.is(outcomeOf({ kind: 'lost', why: 'ECONNRESET' }).kind, 'unknown');
  assert.is(outcomeOf({ kind: 'unsent' }).kind, 'refused');
});

stalled.run();
meaning.run();
