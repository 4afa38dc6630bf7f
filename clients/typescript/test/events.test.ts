import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventBlocks } from '../src/events/event-block.ts';
import { EventConnection } from '../src/events/event-connection.ts';
import { type InstanceEvent, NotFoundError, UnauthorizedError } from '../src/identity-engine.ts';
import { clientOf, rejection } from './support/clients.ts';
import { cut, FakeServer, type Reaction, refusal } from './support/fake-server.ts';

/** Sends pieces of a stream and then ends, cuts or holds it. */
function stream(pieces: readonly string[], then: 'end' | 'cut' | 'open' = 'end'): Reaction {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const piece of pieces) await new Promise<unknown>((done) => response.write(piece, done));
    if (then === 'end') response.end();
    if (then === 'cut') response.socket?.destroy();
  };
}

const cycle = (id: number) => `id: ${id}\nevent: cycle\ndata: {"observation":{"cycle":${id}}}\n\n`;
const DELETED = 'event: deleted\ndata: {}\n\n';
const RETRY = 'retry: 1\n\n';

async function namesOf(events: AsyncIterable<InstanceEvent>): Promise<string[]> {
  const names: string[] = [];
  for await (const { type, id } of events) names.push(id === undefined ? type : `${type} ${id}`);
  return names;
}

const parser = suite('the text of a stream');

const BLOCKS = [
  { event: 'cycle', id: '7', retryMs: undefined, data: 'a\nb' },
  { event: undefined, id: undefined, retryMs: 5, data: undefined },
];

for (const [name, end] of [
  ['\\n', '\n'],
  ['\\r\\n', '\r\n'],
  ['\\r', '\r'],
] as const) {
  parser(`is cut into the same blocks however it comes, with lines that end in ${name}`, () => {
    const lines = [': a comment', 'event:cycle', 'id: 7', 'data: a', 'data: b', '', 'retry: 5', ''];
    const text = [...lines, 'data: of a block that does not end'].join(end);
    for (let size = 1; size < text.length; size += 1) {
      const blocks = new EventBlocks();
      const seen = [];
      for (let at = 0; at < text.length; at += size) {
        seen.push(...blocks.take(text.slice(at, at + size)));
      }
      assert.equal(seen, BLOCKS, `in pieces of ${size}`);
    }
  });
}

parser('of a block without an end is not kept for ever', () => {
  const blocks = new EventBlocks();
  const piece = 'x'.repeat(1_048_576);
  assert.throws(() => {
    for (let count = 0; count < 5; count += 1) blocks.take(piece);
  }, /without an end/);
});

const follower = suite('a stream of events');

follower('hands out typed events, unknown ones too, and ends with deleted', async () => {
  const pieces = [RETRY, 'event: state\ndata: {"contract":{"allowed_actions":[]}}\n\n', cycle(4)];
  const other = 'event: of_tomorrow\ndata: {"a":1}\n\n';
  await using server = await FakeServer.start(stream([...pieces, other, DELETED, cycle(5)]));
  const events: InstanceEvent[] = [];
  for await (const event of clientOf(server).instance('inst_1').events()) events.push(event);
  assert.equal(
    events.map(({ type }) => type),
    ['state', 'cycle', 'unknown', 'deleted'],
  );
  assert.equal(events[2], { type: 'unknown', name: 'of_tomorrow', id: undefined, data: { a: 1 } });
  assert.is(server.received[0]?.headers['last-event-id'], undefined);
});

for (const end of ['end', 'cut'] as const) {
  follower(`goes on behind the last event when its connection comes to this: ${end}`, async () => {
    const [first, second] = [
      [RETRY, cycle(1), cycle(2)],
      [cycle(3), DELETED],
    ];
    await using server = await FakeServer.start(stream(first, end), stream(second));
    const events = clientOf(server).instance('inst_1').events({ after: 0 });
    assert.equal(await namesOf(events), ['cycle 1', 'cycle 2', 'cycle 3', 'deleted']);
    assert.equal(
      server.received.map(({ headers }) => headers['last-event-id']),
      ['0', '2'],
    );
    assert.is(events.lastEventId, '3');
  });
}

follower('takes a block with only an id for where it began', async () => {
  const pieces = [`${RETRY}id: 9\n\n`];
  await using server = await FakeServer.start(stream(pieces), stream([DELETED]));
  await namesOf(clientOf(server).instance('inst_1').events());
  assert.is(server.received[1]?.headers['last-event-id'], '9');
});

follower('comes back after refusals that pass and connections that are cut', async () => {
  const busy = refusal(429, 'rate_limited', 'too_many_streams');
  const down = refusal(503, 'service_unavailable', 'shutting_down');
  await using server = await FakeServer.start(stream([RETRY]), busy, cut, down, stream([DELETED]));
  assert.equal(await namesOf(clientOf(server).instance('inst_1').events()), ['deleted']);
  assert.is(server.received.length, 5);
});

for (const [status, code, type] of [
  [401, 'unauthorized', UnauthorizedError],
  [404, 'not_found', NotFoundError],
] as const) {
  follower(`throws what another connection would not mend: ${code}`, async () => {
    await using server = await FakeServer.start(stream([RETRY, cycle(1)]), refusal(status, code));
    const events = clientOf(server).instance('inst_1').events();
    const seen: string[] = [];
    await rejection(
      (async () => {
        for await (const { type } of events) seen.push(type);
      })(),
      type,
    );
    assert.equal(seen, ['cycle']);
  });
}

follower('ends its connection when its loop is left', async () => {
  let closed = Promise.resolve();
  const held: Reaction = async (response, received) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    await stream([cycle(1)], 'open')(response, received);
  };
  await using server = await FakeServer.start(held);
  for await (const event of clientOf(server).instance('inst_1').events()) {
    assert.is(event.type, 'cycle');
    break;
  }
  await closed;
});

follower('ends with the reason of its signal, also while nothing comes', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const controller = new AbortController();
  const events = clientOf(server).instance('inst_1').events({ signal: controller.signal });
  const iterator = events[Symbol.asyncIterator]();
  await iterator.next();
  const next = iterator.next();
  controller.abort(new Error('enough'));
  assert.is((await rejection(next, Error)).message, 'enough');
});

const connection = suite('a connection that is silent');

connection('counts as ended after as long as it may be, and not before', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const request = { url: server.baseUrl, method: 'GET', headers: {}, body: undefined };
  const opened = await EventConnection.open(fetch, request, 1_000, undefined);
  if (!('connection' in opened)) throw new Error('it was not opened');
  assert.is((await opened.connection.next(1_000))?.length, 1);
  const startedMs = performance.now();
  assert.is(await opened.connection.next(60), undefined);
  assert.ok(performance.now() - startedMs >= 55);
  opened.connection.close();
});

const ending = suite('a stream that is ended');

ending('by close does not wait for its next event', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const events = clientOf(server).instance('inst_1').events();
  const iterator = events[Symbol.asyncIterator]();
  assert.is((await iterator.next()).done, false);
  const next = iterator.next();
  events.close();
  assert.equal(await next, { done: true, value: undefined });
  events.close();
});

ending('by return does not wait for its next event', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const iterator = clientOf(server).instance('inst_1').events()[Symbol.asyncIterator]();
  await iterator.next();
  const next = iterator.next();
  assert.is((await iterator.return()).done, true);
  assert.is((await next).done, true);
});

ending('by its signal hands out nothing more', async () => {
  await using server = await FakeServer.start(stream([cycle(1) + cycle(2) + cycle(3)], 'open'));
  const controller = new AbortController();
  const { signal } = controller;
  const names: string[] = [];
  const run = async () => {
    for await (const { id } of clientOf(server).instance('inst_1').events({ signal })) {
      names.push(String(id));
      controller.abort(new Error('enough'));
    }
  };
  assert.is((await rejection(run(), Error)).message, 'enough');
  assert.equal(names, ['1']);
});

ending('while it opens does not wait for a fetch that heeds no signal', async () => {
  const fetch = () => new Promise<Response>(() => {});
  const client = clientOf({ baseUrl: 'http://x.test/v1' }, { fetch });
  const controller = new AbortController();
  const events = client.instance('inst_1').events({ signal: controller.signal });
  const next = rejection(events[Symbol.asyncIterator]().next(), Error);
  controller.abort(new Error('enough'));
  assert.is((await next).message, 'enough');
});

for (const each of [parser, follower, connection, ending]) each.run();
