import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hidesFromOthers } from '#test/api/instances/one-instance';
import { admin, type Caller, callerOf, newKey, send } from '#test/support/calls/caller';
import { EventReader, type StreamEvent } from '#test/support/calls/event-reader';
import { assertRefused, observationAt, sharedScene } from '#test/support/calls/scene';
import type { Service } from '#test/support/servers/service';

const scene = await sharedScene();
const { service, caller, newCaller } = scene;

/** Whether the edge receives account changes. Processes at fixed addresses have no bus. */
const isHeard = process.env['TEST_TOPOLOGY'] !== 'processes';

const follow = (of: Pick<Caller, 'key'>, id: string, query = '', headers = {}) =>
  EventReader.open(service.api, of, `/instances/${id}/events${query}`, headers);

const namesOf = (events: readonly StreamEvent[]) => events.map(({ event }) => event);
const cyclesOf = (events: readonly StreamEvent[]) =>
  events.filter(({ event }) => event === 'cycle');
const idsOf = (events: readonly StreamEvent[]) => cyclesOf(events).map(({ id }) => id);
const upTo = (last: number, from = 1) =>
  Array.from({ length: last - from + 1 }, (_, n) => from + n);

/** Reads the `cycle` events after the event `last`, up to the event `newest`. */
async function cyclesBehind(id: string, last: number, newest: number): Promise<StreamEvent[]> {
  using reader = await follow(caller, id, '', { 'last-event-id': `${last}` });
  const events = await reader.until('state');
  while (idsOf(events).at(-1) !== newest) {
    const next = await reader.next();
    assert.ok(next);
    events.push(next);
  }
  return cyclesOf(events);
}

const following = suite('an event stream');

/** A read-only key of the account. */
const reading = { key: await newKey(service, caller.accountId, 'read') };
/** Another key, with which one test opens the maximum number of streams. */
const busy = { key: await newKey(service, caller.accountId, 'read') };

following.before(async () => {
  // The edge ends streams that it admitted within a second after an account change, such as a new
  // key. Wait until a stream stays open.
  const id = await caller.createInstance();
  for (let isOver = !isHeard; !isOver; ) {
    using reader = await follow(caller, id);
    isOver = !(await reader.endsWithin(1_500));
  }
});
following('sends the state first, and then each cycle as soon as it is processed', async () => {
  const id = await caller.createInstance();
  using reader = await follow(caller, id);
  assert.is(reader.status, 200);
  const { headers } = reader;
  assert.is(headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.is(headers.get('cache-control'), 'no-store');
  assert.is(headers.get('x-accel-buffering'), 'no');
  assert.is(headers.get('access-control-allow-origin'), null);
  assert.match(headers.get('x-ratelimit-remaining') ?? '', /^\d+$/);
  assert.match(headers.get('x-request-id') ?? '', /^[\w.-]{8,64}$/);
  const begun = await reader.until('state');
  assert.equal(
    begun.map(({ event, id: eventId, retryMs }) => [event, eventId, retryMs]),
    [
      [undefined, undefined, 1_000],
      [undefined, 0, undefined],
      ['state', undefined, undefined],
    ],
  );
  const first = await caller.process(id, observationAt(0));
  const [cycle, state] = await reader.until('state');
  assert.equal([cycle?.event, cycle?.id], ['cycle', 1]);
  const { body: history } = await caller.send('GET', `/instances/${id}/history?generation=all`);
  assert.equal(cycle?.data, { observation: history.data[0], drift: null });
  const { set_point, last_stable, ...report } = state?.data ?? {};
  assert.equal(report, first);
  for (const strengths of [set_point, last_stable]) {
    assert.equal(Object.keys(strengths), Object.keys(first.snapshot.mode_strengths));
  }
});

following('shows a batch cycle by cycle, with its drift events', async () => {
  const mode_strengths = { order: 0.8, identity: 0.6 };
  const id = await caller.createInstance({ initial_config: { mode_strengths } });
  using reader = await follow(caller, id);
  await reader.until('state');
  const observations = Array.from({ length: 100 }, (_, n) =>
    observationAt(n, { mode_target: n % 2 ? 'STRESS_RESPONSE' : 'ASSERTION', signal_strength: 1 }),
  );
  const json = { observations };
  await caller.send('POST', `/instances/${id}/process/batch`, { json });
  const events = await reader.until('state');
  assert.equal(idsOf(events), upTo(100));
  const { body } = await caller.send('GET', `/instances/${id}/drift?generation=all&limit=1000`);
  const drift = cyclesOf(events).flatMap(({ data }) => data.drift ?? []);
  assert.ok(drift.length > 10);
  assert.equal(drift, body.data.toReversed());
});

following(
  'continues after the last event without loss or repetition during new cycles',
  async () => {
    const id = await caller.createInstance();
    const total = 120;
    const writing = (async () => {
      for (let n = 0; n < total; n += 1) await caller.process(id, observationAt(n));
    })();
    const ids: number[] = [];
    while (ids.length < total) {
      using reader = await follow(caller, id, '?after=0', { 'last-event-id': `${ids.length}` });
      for (let taken = 0; taken < 17 && ids.length < total; ) {
        const event = await reader.next();
        assert.ok(event);
        if (event.event !== 'cycle') continue;
        ids.push(event.id ?? Number.NaN);
        taken += 1;
      }
    }
    await writing;
    assert.equal(ids, upTo(total));
    assert.equal(
      (await cyclesBehind(id, 100, total)).map(({ id: eventId }) => eventId),
      upTo(total, 101),
    );
  },
);

following('can be resumed by a query instead of the header', async () => {
  const id = await caller.createInstance();
  for (let n = 0; n < 3; n += 1) await caller.process(id, observationAt(n));
  using reader = await follow(caller, id, '?after=1');
  const events = [...(await reader.until('cycle')), ...(await reader.until('cycle'))];
  assert.equal(idsOf(events), [2, 3]);
  assert.is(namesOf(events)[1], 'state');
});

following('reports a reset, and ends after a deletion', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  using reader = await follow(caller, id);
  await reader.until('state');
  await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
  const [reset, state] = await reader.until('state');
  assert.equal([reset?.event, reset?.data], ['reset', { generation: 2 }]);
  assert.is(state?.data.snapshot.cycle, 0);
  await caller.process(id, observationAt(0));
  assert.equal(idsOf(await reader.until('state')), [2]);
  await caller.send('DELETE', `/instances/${id}`);
  assert.equal(namesOf(await reader.rest()), ['deleted', undefined]);
  using again = await follow(caller, id);
  assert.is(again.status, 404);
});

following('costs one request and no cycle', async () => {
  const other = await newCaller({ requestsPerMinute: 50, cyclesPerMonth: 50 });
  const id = await other.createInstance();
  const left = async () => {
    using reader = await follow(other, id);
    await reader.until('state');
    assert.is(reader.headers.get('x-monthly-remaining'), '50');
    return Number(reader.headers.get('x-ratelimit-remaining'));
  };
  assert.is((await left()) - (await left()), 1);
});

following('may be opened with a read-only key', async () => {
  const id = await caller.createInstance();
  using reader = await follow(reading, id);
  assert.is(reader.status, 200);
});

const refused = suite('a request for an event stream');

hidesFromOthers(
  refused,
  scene,
  (of, id) => of.send('GET', `/instances/${id}/events`),
  () => caller.createInstance(),
  ['not-an-id'],
);

refused('without a key is refused with 401', async () => {
  const id = await caller.createInstance();
  assertRefused(await send(service, 'GET', `/instances/${id}/events`), 401, 'unauthorized');
});

for (const value of ['-1', '1.5', 'abc', '0x1', '99999999999999999', '9007199254740993', '1 ']) {
  refused(`after event ${value} is refused with 400`, async () => {
    const id = await caller.createInstance();
    const query = `?after=${encodeURIComponent(value)}`;
    const asked = await caller.send('GET', `/instances/${id}/events${query}`);
    assertRefused(asked, 400, 'invalid_request', { field: 'after', reason: 'invalid_parameter' });
    if (value.trim() !== value) return;
    const headers = { 'last-event-id': value };
    const named = await caller.send('GET', `/instances/${id}/events`, { headers });
    const details = { field: 'Last-Event-ID', reason: 'invalid_header' };
    assertRefused(named, 400, 'invalid_request', details);
  });
}

refused(
  'after a future event is refused with 400 and the name of the parameter or header',
  async () => {
    const id = await caller.createInstance();
    const asked = await caller.send('GET', `/instances/${id}/events?after=1`);
    assertRefused(asked, 400, 'invalid_request', { field: 'after', reason: 'invalid_parameter' });
    const headers = { 'last-event-id': '1' };
    const named = await caller.send('GET', `/instances/${id}/events?after=0`, { headers });
    const details = { field: 'Last-Event-ID', reason: 'invalid_header' };
    assertRefused(named, 400, 'invalid_request', details);
  },
);

refused('beyond 20 streams of one key is refused with 429 until a stream ends', async () => {
  const id = await caller.createInstance();
  const reader = callerOf(service, caller.accountId, busy.key);
  const open = await Promise.all(upTo(20).map(() => follow(busy, id)));
  assert.equal(
    open.map(({ status }) => status),
    Array(20).fill(200),
  );
  const answer = await reader.send('GET', `/instances/${id}/events`);
  const details = { reason: 'too_many_streams', alias: 'rate_limit_exceeded' };
  assertRefused(answer, 429, 'rate_limited', details);
  using other = await follow(caller, id);
  assert.is(other.status, 200);
  open[0]?.[Symbol.dispose]();
  await untilOpened(busy, id);
  for (const each of open) each[Symbol.dispose]();
});

/** Opens a stream, retrying until the key has fewer streams than its maximum. */
async function untilOpened(of: Pick<Caller, 'key'>, id: string): Promise<void> {
  for (;;) {
    using reader = await follow(of, id);
    if (reader.status === 200) return;
  }
}

const ended = suite('a stream whose key is revoked');

if (isHeard) {
  ended('ends immediately, and cannot be opened again', async () => {
    const id = await caller.createInstance();
    const { key, keyId } = await keyOf(service, caller.accountId);
    using reader = await follow({ key }, id);
    await reader.until('state');
    await admin(service, 'DELETE', `/accounts/${caller.accountId}/keys/${keyId}`);
    const [last] = await reader.rest();
    assert.ok((last?.retryMs ?? 0) > 1_000, 'the end must contain a reconnect delay');
    using again = await follow({ key }, id);
    assert.is(again.status, 401);
  });
}

async function keyOf(of: Service, accountId: string): Promise<{ key: string; keyId: string }> {
  const made = await admin(of, 'POST', `/accounts/${accountId}/keys`, { scope: 'read' });
  return { key: made.key, keyId: made.id };
}

for (const each of [following, refused, ended]) each.run();
