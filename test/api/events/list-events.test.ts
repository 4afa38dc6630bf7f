import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, type Caller, newKey } from '#test/support/calls/caller';
import { EventReader } from '#test/support/calls/event-reader';
import {
  assertRefused,
  observationAt,
  type SceneCaller,
  sharedScene,
} from '#test/support/calls/scene';

const { service, newCaller } = await sharedScene();

const STRESS = { mode_target: 'STRESS_RESPONSE', signal_strength: 1 };
const ALL =
  'types=created,renamed,reset,deleted,rolled_back,drift_changed,stress_changed,' +
  'contract_changed,mode_changed';

type Event = { readonly id: string; readonly type: string; readonly instance_id: string };

/** Maximum time until an event is in the log, in milliseconds, on a busy machine. */
const LATE_MS = 60_000;

/** Reads pages from a cursor on until `isLast` accepts an event. */
async function eventsUntil(
  caller: Caller,
  isLast: (event: Event) => boolean,
  query = ALL,
): Promise<Event[]> {
  const events: Event[] = [];
  let cursor = '';
  const endMs = performance.now() + LATE_MS;
  for (;;) {
    const { status, body, text } = await caller.send(
      'GET',
      `/events?${query}&wait=8&limit=3${cursor}`,
    );
    assert.is(status, 200, text);
    events.push(...body.data);
    if (body.data.some(isLast)) return events;
    const seen = `the last event never comes: ${typesOf(events)}`;
    assert.ok(events.length < 1_000 && performance.now() < endMs, seen);
    cursor = `&cursor=${body.pagination.next_cursor}`;
  }
}

const typesOf = (events: readonly Event[]) => events.map(({ type }) => type);

/** Creates an instance, and raises its stress with three observations. */
async function stressed(caller: SceneCaller): Promise<string> {
  const id = await caller.createInstance();
  for (let n = 0; n < 3; n += 1) await caller.process(id, { ...observationAt(5 * n), ...STRESS });
  return id;
}

const listing = suite('the events of an account');

listing('have every change of an instance once, in order', async () => {
  const caller = await newCaller();
  const id = await stressed(caller);
  await caller.send('PATCH', `/instances/${id}`, { json: { tags: { team: 'no event' } } });
  await caller.send('PATCH', `/instances/${id}`, { json: { name: 'Grace', tags: {} } });
  await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  await caller.send('DELETE', `/instances/${id}`);
  const events = await eventsUntil(caller, ({ type }) => type === 'deleted');
  const types = typesOf(events);
  assert.equal([types[0], types.at(-1)], ['created', 'deleted']);
  for (const type of ['renamed', 'reset', 'created', 'deleted']) {
    assert.is(types.filter((one) => one === type).length, 1, type);
  }
  assert.ok(types.indexOf('renamed') < types.indexOf('reset'));
  assert.ok(types.includes('stress_changed'));
  assert.is(new Set(events.map((event) => event.id)).size, events.length, 'every id is unique');
  assert.ok(events.every((event) => event.instance_id === id));
});

listing('agree with the answers to the observations', async () => {
  const caller = await newCaller();
  const id = await caller.createInstance();
  const seen: string[] = [];
  let before = 'LOW';
  for (let n = 0; n < 6; n += 1) {
    const { snapshot } = await caller.process(id, { ...observationAt(5 * n), ...STRESS });
    if (snapshot.stress_state !== before)
      seen.push(`${snapshot.cycle} ${before} ${snapshot.stress_state}`);
    before = snapshot.stress_state;
  }
  assert.ok(seen.length >= 2, 'the stress changes several times');
  const last = seen.at(-1);
  const textOf = ({ cycle, from, to }: Record<string, unknown>) => `${cycle} ${from} ${to}`;
  const events = await eventsUntil(
    caller,
    (event) => textOf(event as never) === last,
    'types=stress_changed',
  );
  assert.equal(
    events.map((event) => textOf(event as never)),
    seen,
  );
});

listing('leave out changes of actions and leading mode unless they are asked for', async () => {
  const caller = await newCaller();
  const id = await stressed(caller);
  const all = await eventsUntil(caller, ({ type }) => type === 'mode_changed');
  assert.ok(typesOf(all).includes('contract_changed'));
  await caller.send('DELETE', `/instances/${id}`);
  const usual = await eventsUntil(caller, ({ type }) => type === 'deleted', 'start=oldest');
  assert.not.ok(typesOf(usual).includes('contract_changed'));
  assert.not.ok(typesOf(usual).includes('mode_changed'));
});

listing('continue after a stored cursor, and have a cursor on an empty page', async () => {
  const caller = await newCaller();
  const empty = await caller.send('GET', '/events');
  assert.equal([empty.status, empty.body.data], [200, []]);
  const cursor = empty.body.pagination.next_cursor;
  const id = await caller.createInstance();
  const waited = await caller.send('GET', `/events?cursor=${cursor}&wait=8`);
  assert.equal(typesOf(waited.body.data), ['created']);
  assert.is(waited.body.data[0].instance_id, id);
  const next = waited.body.pagination.next_cursor;
  const after = await caller.send('GET', `/events?cursor=${next}`);
  assert.equal([after.body.data, after.body.pagination.has_more], [[], false]);
});

listing('begin behind all events with start=newest', async () => {
  const caller = await newCaller();
  await caller.createInstance();
  await eventsUntil(caller, ({ type }) => type === 'created');
  const { body } = await caller.send('GET', '/events?start=newest');
  assert.equal(body.data, []);
  const id = await caller.createInstance();
  const { next_cursor: cursor } = body.pagination;
  const waited = await caller.send('GET', `/events?cursor=${cursor}&wait=8`);
  assert.equal(waited.body.data[0].instance_id, id);
});

listing('belong to one account', async () => {
  const [one, other] = [await newCaller(), await newCaller()];
  await one.createInstance();
  await eventsUntil(one, ({ type }) => type === 'created');
  const { body } = await other.send('GET', '/events');
  assert.equal(body.data, []);
  const { next_cursor: cursor } = (await one.send('GET', '/events')).body.pagination;
  const stolen = await other.send('GET', `/events?cursor=${cursor}`);
  assertRefused(stolen, 400, 'invalid_request', { field: 'cursor', reason: 'invalid_parameter' });
});

const REFUSED: readonly [query: string, field: string, reason: string][] = [
  ['cursor=abc', 'cursor', 'invalid_parameter'],
  ['cursor=', 'cursor', 'invalid_parameter'],
  ['limit=0', 'limit', 'invalid_parameter'],
  ['limit=1001', 'limit', 'invalid_parameter'],
  ['wait=9', 'wait', 'invalid_parameter'],
  ['start=middle', 'start', 'invalid_parameter'],
  ['types=created,lost', 'types', 'invalid_parameter'],
  ['types=', 'types', 'invalid_parameter'],
  ['tag=a', 'tag', 'unknown_parameter'],
];
for (const [query, field, reason] of REFUSED) {
  listing(`refuse ?${query}`, async () => {
    const caller = await newCaller();
    assertRefused(await caller.send('GET', `/events?${query}`), 400, 'invalid_request', {
      field,
      reason,
    });
  });
}

listing('refuse a cursor with a changed character', async () => {
  const caller = await newCaller();
  await caller.createInstance();
  await eventsUntil(caller, ({ type }) => type === 'created');
  const { next_cursor: cursor } = (await caller.send('GET', '/events')).body.pagination;
  for (const at of [0, 4, cursor.length - 1]) {
    const other = cursor[at] === 'A' ? 'B' : 'A';
    const changed = `${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`;
    const { status } = await caller.send('GET', `/events?cursor=${changed}`);
    assert.is(status, 400, changed);
  }
});

// Waiting calls without a bound could take all places of an edge and of an engine.
listing('have a bound of waiting calls for each key', async () => {
  const caller = await newCaller();
  // A busy service may refuse a call for another reason, so such a call is repeated.
  const wait = async (): Promise<Answer> => {
    const answer = await caller.send('GET', '/events?wait=8');
    return answer.status === 503 ? await wait() : answer;
  };
  const waiting = Array.from({ length: 21 }, wait);
  const refused = waiting.map(async (call) => {
    const answer = await call;
    if (answer.status === 429) return answer;
    throw new Error(`answered without a refusal: ${answer.status} ${answer.text}`);
  });
  const answer = await Promise.any(refused).catch(({ errors }) => {
    throw errors[0];
  });
  assert.is(answer.body.details.reason, 'too_many_streams');
  await caller.createInstance();
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assert.equal(statuses.toSorted(), [...Array(20).fill(200), 429]);
});

listing('are readable with a read-only key', async () => {
  const caller = await newCaller({ scope: 'read' });
  assert.is((await caller.send('GET', '/events')).status, 200);
});

const streaming = suite('the stream of the events of an account');

const ACCEPT = { accept: 'text/event-stream' };

streaming('sends events as they happen, and continues after Last-Event-ID', async () => {
  const caller = await newCaller();
  const { key } = caller;
  const first = await caller.createInstance();
  await eventsUntil(caller, ({ type }) => type === 'created');
  const seen: string[] = [];
  let last = '';
  {
    using reader = await EventReader.open(service.api, { key }, '/events?start=oldest', ACCEPT);
    assert.is(reader.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const events = await reader.until('created');
    last = events.at(-1)?.idText ?? '';
    seen.push(events.at(-1)?.data.instance_id);
  }
  const second = await caller.createInstance();
  using reader = await EventReader.open(service.api, { key }, '/events', {
    ...ACCEPT,
    'last-event-id': last,
  });
  seen.push((await reader.until('created')).at(-1)?.data.instance_id);
  assert.equal(seen, [first, second]);
});

// A browser reconnects with its original query, so the query has an old cursor.
streaming('continues after Last-Event-ID, not after the older cursor of the query', async () => {
  const caller = await newCaller();
  const cursorNow = async (query: string) =>
    (await caller.send('GET', `/events${query}`)).body.pagination.next_cursor;
  const old = await cursorNow('');
  const first = await caller.createInstance();
  await eventsUntil(caller, (event) => event.instance_id === first);
  const newest = await cursorNow('?limit=1');
  const second = await caller.createInstance();
  using reader = await EventReader.open(service.api, caller, `/events?cursor=${old}`, {
    ...ACCEPT,
    'last-event-id': newest,
  });
  assert.is((await reader.until('created')).at(-1)?.data.instance_id, second);
});

streaming('refuses a Last-Event-ID that is no cursor of the account', async () => {
  const caller = await newCaller();
  using reader = await EventReader.open(service.api, caller, '/events', {
    ...ACCEPT,
    'last-event-id': 'not a cursor',
  });
  assert.is(reader.status, 400);
});

streaming('ends when a key of the account changes', async () => {
  const caller = await newCaller();
  using reader = await EventReader.open(service.api, caller, '/events', ACCEPT);
  await newKey(service, caller.accountId, 'read');
  // Processes at fixed addresses have no bus, so their edge hears of no change.
  if (process.env['TEST_TOPOLOGY'] !== 'processes') assert.ok(await reader.endsWithin(5_000));
});

for (const group of [listing, streaming]) group.run();
