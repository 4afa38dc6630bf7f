import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newCaller } from '../../../test/support/calls/caller.ts';
import { startStandalone } from '../../../test/support/servers/service.ts';
import {
  type AccountEvent,
  type AttemptEvent,
  type Fetch,
  type Followed,
  IdentityEngine,
  InvalidRequestError,
  MalformedAnswerError,
  UnauthorizedError,
} from '../src/identity-engine.ts';
import { clientOf, rejection } from './support/clients.ts';
import { FakeServer, type Reaction, refusal } from './support/fake-server.ts';

const RETRY = 'retry: 1\n\n';

const renamed = (number: number) => {
  const event = { id: `e${number}`, type: 'renamed', instance_id: 'inst_1', cycle: number };
  return `id: c${number}\nevent: renamed\ndata: ${JSON.stringify(event)}\n\n`;
};

/** Sends a text in one piece, and then ends the stream or leaves the stream open. */
function stream(text: string, then: 'end' | 'open' = 'end'): Reaction {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(text);
    if (then === 'end') response.end();
  };
}

const nameOf = (item: Followed) => (item.type === 'gap' ? 'gap' : item.event.id);

const follower = suite('a stream of the events of an account');

// Catches a resume after the received events instead of after the delivered event.
follower('resumes at the item at which its consumer left, although more have arrived', async () => {
  const text = RETRY + renamed(1) + renamed(2) + renamed(3);
  await using server = await FakeServer.start(stream(text), stream(renamed(2)));
  const client = clientOf(server);
  const first = client.events.follow();
  for await (const item of first) {
    assert.equal([nameOf(item), item.cursor, first.cursor], ['e1', 'c1', 'c1']);
    break;
  }
  assert.is(first.cursor, 'c1');
  for await (const item of client.events.follow({ cursor: first.cursor })) {
    assert.is(nameOf(item), 'e2');
    break;
  }
  assert.is(server.received[1]?.headers['last-event-id'], 'c1');
});

// Catches a cursor that expires because all events are hidden for days.
follower('moves its cursor past hidden events while it waits', async () => {
  const text = `${RETRY}${renamed(1)}id: c9\n\n`;
  await using server = await FakeServer.start(stream(text), stream(renamed(10), 'open'));
  const events = clientOf(server).events.follow({ types: ['renamed'] });
  const names: string[] = [];
  for await (const item of events) if (names.push(nameOf(item)) === 2) break;
  assert.equal(names, ['e1', 'e10']);
  assert.is(server.received[1]?.headers['last-event-id'], 'c9');
});

// Catches a silent gap, and a gap whose cursor is lost.
follower('has the cursor of an expired position until the next event', async () => {
  const gone = refusal(410, 'invalid_request', 'cursor_expired');
  await using server = await FakeServer.start(gone, stream(renamed(5), 'open'));
  const events = clientOf(server).events.follow({ cursor: 'c1', start: 'newest' });
  const iterator = events[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value, { type: 'gap', cursor: 'c1' });
  assert.is(events.cursor, 'c1');
  assert.is((await iterator.next()).value?.cursor, 'c5');
  await iterator.return();
  assert.equal(
    server.received.map(({ path }) => path),
    ['/v1/events?start=newest', '/v1/events?start=oldest'],
  );
});

// Catches an endless loop of gaps.
follower('throws an expired position that it did not send', async () => {
  await using server = await FakeServer.start(refusal(410, 'invalid_request', 'cursor_expired'));
  const iterator = clientOf(server).events.follow({ start: 'oldest' })[Symbol.asyncIterator]();
  await rejection(iterator.next(), InvalidRequestError);
  assert.is(server.received.length, 1);
});

// Catches a reconnect with a revoked key for ever.
follower('throws a permanent refusal, also when it reconnects', async () => {
  await using server = await FakeServer.start(
    stream(RETRY + renamed(1)),
    refusal(401, 'unauthorized'),
  );
  const iterator = clientOf(server).events.follow()[Symbol.asyncIterator]();
  await iterator.next();
  await rejection(iterator.next(), UnauthorizedError);
  assert.is((await iterator.next()).done, true);
});

// Catches a connection that stays open after a malformed event.
follower('throws and disconnects if an event has no cursor', async () => {
  let closed = Promise.resolve();
  const held: Reaction = (response, received) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    return stream(renamed(1).replace('id: c1\n', ''), 'open')(response, received);
  };
  await using server = await FakeServer.start(held);
  const iterator = clientOf(server).events.follow()[Symbol.asyncIterator]();
  await rejection(iterator.next(), MalformedAnswerError);
  await closed;
});

// Catches cursors in the logs of users.
follower('is reported to the hook without its query', async () => {
  const seen: AttemptEvent[] = [];
  await using server = await FakeServer.start(stream(renamed(1), 'open'));
  const client = clientOf(server, { onAttempt: (event) => seen.push(event) });
  for await (const _ of client.events.follow({ types: ['renamed'] })) break;
  assert.equal(
    seen.map(({ path, status }) => [path, status]),
    [['/events', 200]],
  );
});

const ending = suite('a stream of the account that the caller ends');

// Catches a stream that counts against the account's limit after its loop.
ending('by leaving the loop closes the connection', async () => {
  let closed = Promise.resolve();
  const held: Reaction = (response, received) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    return stream(renamed(1), 'open')(response, received);
  };
  await using server = await FakeServer.start(held);
  for await (const _ of clientOf(server).events.follow()) break;
  await closed;
});

for (const [name, end] of [
  ['close', (events: { close(): void }) => events.close()],
  ['return', (_: unknown, iterator: AsyncGenerator<Followed>) => void iterator.return(undefined)],
] as const) {
  ending(`by ${name} does not wait for the next event`, async () => {
    await using server = await FakeServer.start(stream(renamed(1), 'open'));
    const events = clientOf(server).events.follow();
    const iterator = events[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    end(events, iterator);
    assert.equal(await next, { done: true, value: undefined });
  });
}

// Catches items that are handled after an abort.
ending('by aborting rejects with the reason, and yields no more items', async () => {
  await using server = await FakeServer.start(stream(renamed(1) + renamed(2), 'open'));
  const controller = new AbortController();
  const { signal } = controller;
  const names: string[] = [];
  const run = async () => {
    for await (const item of clientOf(server).events.follow({ signal })) {
      names.push(nameOf(item));
      controller.abort(new Error('enough'));
    }
  };
  assert.is((await rejection(run(), Error)).message, 'enough');
  assert.equal(names, ['e1']);
});

// Catches an abort that waits for the next event.
ending('by aborting while it waits does not wait for the next event', async () => {
  await using server = await FakeServer.start(stream(renamed(1), 'open'));
  const controller = new AbortController();
  const events = clientOf(server).events.follow({ signal: controller.signal });
  const iterator = events[Symbol.asyncIterator]();
  await iterator.next();
  const next = rejection(iterator.next(), Error);
  controller.abort(new Error('enough'));
  assert.is((await next).message, 'enough');
});

const real = suite('the events of an account of a real service');

const service = await startStandalone();
real.after(async () => await service[Symbol.asyncDispose]());

/**
 * A client of a new account, with short delays before reconnects. `cutsAfter`: number of characters
 * after which the client's first streams break.
 */
async function newClient(cutsAfter: readonly number[] = []) {
  const { key } = await newCaller(service);
  const left = [...cutsAfter];
  const hurried: Fetch = async (url, init) => {
    const answer = await fetch(url, init);
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    if (isStream !== true || answer.body === null) return answer;
    const { status, headers } = answer;
    return new Response(answer.body.pipeThrough(broken(left.shift())), { status, headers });
  };
  const open = () => new IdentityEngine({ apiKey: key, baseUrl: service.api, fetch: hurried });
  return { client: open(), open };
}

/** Passes a stream on with a short delay before reconnects, and breaks it after `lengthMax`. */
function broken(lengthMax = Number.POSITIVE_INFINITY) {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let left = lengthMax;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = decoder.decode(chunk).replace(/^retry: \d+/m, 'retry: 1');
      controller.enqueue(encoder.encode(text.slice(0, left)));
      left -= text.length;
      if (left <= 0) controller.error(new Error('cut'));
    },
  });
}

/** Creates, renames and deletes two instances in turns. Returns their ids. */
async function changeTwo(client: IdentityEngine): Promise<readonly [string, string]> {
  const [ada, eva] = [
    (await client.instances.create({ name: 'Ada' })).data.id,
    (await client.instances.create({ name: 'Eva' })).data.id,
  ];
  for (const name of ['A', 'B', 'C']) {
    await client.instances.update(ada, { name });
    await client.instances.update(eva, { name });
  }
  await client.instance(eva).reset('initial');
  await client.instances.delete(ada);
  return [ada, eva];
}

const OF_ADA = ['created', 'renamed', 'renamed', 'renamed', 'deleted'];
const OF_EVA = ['created', 'renamed', 'renamed', 'renamed', 'reset'];
const CHANGES = OF_ADA.length + OF_EVA.length;

const typesOf = (events: readonly AccountEvent[], id: string) =>
  events.filter((event) => event.instance_id === id).map(({ type }) => type);

/** The next events of a stream. Fails on a gap. */
async function taken(items: AsyncIterable<Followed>, count: number) {
  const events: AccountEvent[] = [];
  const cursors: string[] = [];
  for await (const item of items) {
    if (item.type === 'gap') throw new Error('events are missing');
    events.push(item.event);
    cursors.push(item.cursor);
    if (events.length === count) break;
  }
  return { events, cursors };
}

// Catches a follower that sends its first answer only.
real('arrive while they happen, in order per instance', async () => {
  const { client } = await newClient();
  const { pagination } = await client.events.list({ start: 'newest' });
  const live = taken(client.events.follow({ cursor: pagination.next_cursor }), CHANGES);
  const [ada, eva] = await changeTwo(client);
  const { events } = await live;
  assert.equal([typesOf(events, ada), typesOf(events, eva)], [OF_ADA, OF_EVA]);
});

// Catches a cursor that skips or repeats an event.
real('continue after each stored cursor with another client', async () => {
  const { client, open } = await newClient();
  await changeTwo(client);
  const { events, cursors } = await taken(client.events.follow({ start: 'oldest' }), CHANGES);
  const ids = events.map(({ id }) => id);
  for (const [index, cursor] of cursors.slice(0, -1).entries()) {
    const rest = await taken(open().events.follow({ cursor }), CHANGES - index - 1);
    assert.equal(
      rest.events.map(({ id }) => id),
      ids.slice(index + 1),
    );
  }
});

// Catches an id that is used before its event has arrived.
real('arrive once each over connections that break anywhere', async () => {
  const { client } = await newClient([150, 700, 1_100, 40, 1]);
  const [ada] = await changeTwo(client);
  const { events } = await taken(client.events.follow({ start: 'oldest' }), CHANGES);
  assert.is(new Set(events.map(({ id }) => id)).size, CHANGES);
  assert.equal(typesOf(events, ada), OF_ADA);
});

// Catches a filter that is not sent, or not sent for later pages.
real('are filtered by type, in a stream and in pages', async () => {
  const { client } = await newClient();
  const [ada, eva] = await changeTwo(client);
  const types = ['reset', 'created'] as const;
  const followed = await taken(client.events.follow({ types, start: 'oldest' }), 3);
  assert.equal(typesOf(followed.events, ada), ['created']);
  assert.equal(typesOf(followed.events, eva), ['created', 'reset']);
  const read: AccountEvent[] = [];
  let page: Awaited<ReturnType<typeof client.events.list>> | undefined;
  page = await client.events.list({ types, limit: 1 });
  for (; page !== undefined; page = await page.next()) read.push(...page.data);
  assert.equal(read, followed.events);
});

// Catches a wait that is not sent, or in another unit.
real('are awaited by a page with wait', async () => {
  const { client } = await newClient();
  const { pagination } = await client.events.list();
  const awaited = client.events.list({ cursor: pagination.next_cursor, wait: 8 });
  await client.instances.create({ name: 'Ada' });
  assert.equal(
    (await awaited).data.map(({ type }) => type),
    ['created'],
  );
});

for (const each of [follower, ending, real]) each.run();
