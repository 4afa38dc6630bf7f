import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventBlocks } from '../src/events/event-block.ts';
import { EventConnection } from '../src/events/event-connection.ts';
import { UNREAD_MAX } from '../src/events/event-hub.ts';
import {
  type EventStream,
  type InstanceEvent,
  NotFoundError,
  RateLimitedError,
  UnauthorizedError,
} from '../src/identity-engine.ts';
import { clientOf, rejection } from './support/clients.ts';
import { cut, FakeServer, type Reaction, refusal } from './support/fake-server.ts';

/** Sends parts of a stream, then ends the stream, cuts the connection or keeps the stream open. */
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

const parser = suite('the text of an event stream');

const BLOCKS = [
  { event: 'cycle', id: '7', retryMs: undefined, data: 'a\nb' },
  { event: undefined, id: undefined, retryMs: 5, data: undefined },
];

for (const [name, end] of [
  ['\\n', '\n'],
  ['\\r\\n', '\r\n'],
  ['\\r', '\r'],
] as const) {
  parser(`is parsed into the same blocks in pieces of any size, with line ends ${name}`, () => {
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

parser('is limited in size while a block is incomplete', () => {
  const blocks = new EventBlocks();
  const piece = 'x'.repeat(1_048_576);
  assert.throws(() => {
    for (let count = 0; count < 5; count += 1) blocks.take(piece);
  }, /more than .* characters/);
});

const follower = suite('an event stream');

follower('yields typed events and unknown events, and ends after deleted', async () => {
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
  follower(`resumes after the last event when the connection breaks: ${end}`, async () => {
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

follower('resumes after an id that arrived without an event', async () => {
  const pieces = [`${RETRY}id: 9\n\n`];
  await using server = await FakeServer.start(stream(pieces), stream([DELETED]));
  await namesOf(clientOf(server).instance('inst_1').events());
  assert.is(server.received[1]?.headers['last-event-id'], '9');
});

follower('reconnects after temporary refusals and cut connections', async () => {
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
  follower(`throws a permanent refusal: ${code}`, async () => {
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

follower('closes the connection when the caller leaves the loop', async () => {
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

follower('rejects with the abort reason, even without events', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const controller = new AbortController();
  const events = clientOf(server).instance('inst_1').events({ signal: controller.signal });
  const iterator = events[Symbol.asyncIterator]();
  await iterator.next();
  const next = iterator.next();
  controller.abort(new Error('enough'));
  assert.is((await rejection(next, Error)).message, 'enough');
});

// Report 16: a stream beyond the account's limit stayed silent forever.
follower(
  'throws if the service reports too many streams for longer than the call timeout',
  async () => {
    const full = refusal(429, 'rate_limited', 'too_many_streams', { 'retry-after': '0' });
    await using server = await FakeServer.start(full);
    const { random } = Math;
    Math.random = () => 0;
    try {
      const events = clientOf(server, { timeoutMs: 1 }).instance('inst_1').events();
      const error = await rejection(events[Symbol.asyncIterator]().next(), RateLimitedError);
      assert.equal([error.reason, error.attempts], ['too_many_streams', 2]);
    } finally {
      Math.random = random;
    }
  },
);

const shared = suite('watchers of one instance');

/**
 * Open streams of a client, to which a test sends events. `ended` lists streams closed by the
 * client.
 */
function channels() {
  const open: ReadableStreamDefaultController<Uint8Array>[] = [];
  const ended: number[] = [];
  const after: unknown[] = [];
  const fetch = async (_: string, { headers, signal }: RequestInit) => {
    const number = open.length;
    after.push((headers as Record<string, string>)['last-event-id']);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void open.push(controller),
    });
    signal?.addEventListener('abort', () => ended.push(number));
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  const send = (number: number, text: string) =>
    open[number]?.enqueue(new TextEncoder().encode(text));
  const instance = clientOf({ baseUrl: 'http://x.test/v1' }, { fetch }).instance('inst_1');
  return { instance, open, ended, after, send };
}

const state = (cycle: number) =>
  `event: state\ndata: {"snapshot":{"cycle":${cycle}},"contract":{}}\n\n`;
const nameOf = ({ value }: IteratorResult<InstanceEvent, void>) => value?.id ?? value?.type;
const iteratorOf = (events: EventStream) => events[Symbol.asyncIterator]();

// Report 16: each watcher used a separate stream of the account.
shared('share a stream, in which later watchers start with the newest state', async () => {
  const { instance, open, send, ended } = channels();
  const [first, second] = [instance.events(), instance.events()].map(iteratorOf);
  assert.ok(first && second);
  const both = Promise.all([first.next(), second.next()]);
  while (open.length === 0) await sleep(1);
  send(0, `id: 3\n\n${state(3)}`);
  assert.equal((await both).map(nameOf), ['state', 'state']);
  const late = instance.events();
  const third = iteratorOf(late);
  assert.is(nameOf(await third.next()), 'state');
  assert.is(late.lastEventId, '3');
  send(0, cycle(4));
  const all = await Promise.all([first, second, third].map((each) => each.next()));
  assert.equal(all.map(nameOf), ['4', '4', '4']);
  assert.is(open.length, 1);
  await first.return();
  late.close();
  assert.equal(ended, []);
  const last = second.next();
  await second.return();
  assert.is((await last).done, true);
  assert.equal(ended, [0]);
  const again = instance.events();
  const next = iteratorOf(again).next();
  while (open.length === 1) await sleep(1);
  again.close();
  assert.is((await next).done, true);
});

// Report 16: a slow watcher on a shared stream must not delay the others.
shared('continue over their own stream if too far behind, and miss no event', async () => {
  const { instance, open, send, after } = channels();
  const [quick, slow] = [instance.events(), instance.events()].map(iteratorOf);
  assert.ok(quick && slow);
  const begun = Promise.all([quick.next(), slow.next()]);
  while (open.length === 0) await sleep(1);
  send(0, cycle(1));
  await begun;
  const ids = Array.from({ length: UNREAD_MAX + 5 }, (_, index) => index + 2);
  send(0, ids.map(cycle).join(''));
  for (const id of ids) assert.is(nameOf(await quick.next()), `${id}`);
  for (const id of ids.slice(0, UNREAD_MAX)) assert.is(nameOf(await slow.next()), `${id}`);
  const next = slow.next();
  while (open.length === 1) await sleep(1);
  assert.equal(after, [undefined, `${UNREAD_MAX + 1}`]);
  send(1, cycle(UNREAD_MAX + 2));
  assert.is(nameOf(await next), `${UNREAD_MAX + 2}`);
  for (const each of [quick, slow]) await each.return();
});

shared('end separately, and have their own stream if they resume after an id', async () => {
  const { instance, open, ended } = channels();
  const controller = new AbortController();
  const { signal } = controller;
  const streams = [{}, { signal }, { after: 7 }].map((options) => instance.events(options));
  const nexts = streams.map((each) => iteratorOf(each).next());
  while (open.length < 2) await sleep(1);
  controller.abort(new Error('enough'));
  assert.is((await rejection(nexts[1] ?? Promise.resolve(), Error)).message, 'enough');
  assert.equal(ended, []);
  for (const each of streams) each.close();
  for (const at of [0, 2]) assert.is((await nexts[at])?.done, true);
  assert.equal(ended.toSorted(), [0, 1]);
});

shared('all receive the error that ends the stream', async () => {
  await using server = await FakeServer.start(refusal(404, 'not_found'));
  const instance = clientOf(server).instance('inst_1');
  const nexts = [instance.events(), instance.events()].map((each) => iteratorOf(each).next());
  await Promise.all(nexts.map((next) => rejection(next, NotFoundError)));
  assert.is(server.received.length, 1);
  await rejection(iteratorOf(instance.events()).next(), NotFoundError);
});

const connection = suite('a silent connection');

connection('ends after the maximum silence, and not before', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const request = { url: server.baseUrl, method: 'GET', headers: {}, body: undefined };
  const opened = await EventConnection.open(fetch, request, 1_000, undefined);
  if (!('connection' in opened)) throw new Error('the stream was not opened');
  assert.is((await opened.connection.next(1_000))?.length, 1);
  const startedMs = performance.now();
  assert.is(await opened.connection.next(60), undefined);
  assert.ok(performance.now() - startedMs >= 55);
  opened.connection.close();
});

const ending = suite('a stream that the caller ends');

ending('by close does not wait for the next event', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const events = clientOf(server).instance('inst_1').events();
  const iterator = events[Symbol.asyncIterator]();
  assert.is((await iterator.next()).done, false);
  const next = iterator.next();
  events.close();
  assert.equal(await next, { done: true, value: undefined });
  events.close();
});

ending('by return does not wait for the next event', async () => {
  await using server = await FakeServer.start(stream([cycle(1)], 'open'));
  const iterator = clientOf(server).instance('inst_1').events()[Symbol.asyncIterator]();
  await iterator.next();
  const next = iterator.next();
  assert.is((await iterator.return()).done, true);
  assert.is((await next).done, true);
});

ending('by aborting the signal yields no more events', async () => {
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

ending('while opening does not wait for a fetch that ignores the signal', async () => {
  const fetch = () => new Promise<Response>(() => {});
  const client = clientOf({ baseUrl: 'http://x.test/v1' }, { fetch });
  const controller = new AbortController();
  const events = client.instance('inst_1').events({ signal: controller.signal });
  const next = rejection(events[Symbol.asyncIterator]().next(), Error);
  controller.abort(new Error('enough'));
  assert.is((await next).message, 'enough');
});

for (const each of [parser, follower, shared, connection, ending]) each.run();
