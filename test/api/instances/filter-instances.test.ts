import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LATE_MS, list, recorded, stress } from '#test/api/instances/indexed-instances';
import type { Caller } from '#test/support/calls/caller';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();

type Listed = { readonly id: string; readonly name: string; readonly changed_at: string };

async function namesIn(of: Caller, query: string): Promise<string[]> {
  const { status, body, text } = await list(of, query);
  assert.is(status, 200, text);
  return body.data.map(({ name }: Listed) => name);
}

const filtering = suite('a list with a filter');

// Catches an index that is built once and never follows the log or the listing.
filtering('follows changes of stress, tags and names, and deletions', async () => {
  const of = await newCaller();
  const [ada, bob, cid] = await Promise.all([
    of.createInstance({ name: 'ada', tags: { team: 'docs' } }),
    of.createInstance({ name: 'bob', tags: { team: 'docs', tier: '2' } }),
    of.createInstance({ name: 'cid' }),
  ]);
  const docs = 'tag.team=docs&sort=name&order=asc';
  assert.equal(await namesIn(of, docs), ['ada', 'bob']);
  assert.equal(await namesIn(of, `${docs}&tag.tier=2`), ['bob']);
  await stress(of, bob);
  const { body } = await list(of, `${docs}&stress=MED,HIGH,OVER`);
  assert.equal(
    body.data.map(({ name }: Listed) => name),
    ['bob'],
  );
  const [{ stress_state }] = body.data;
  assert.ok(['MED', 'HIGH', 'OVER'].includes(stress_state), stress_state);
  await of.send('PATCH', `/instances/${cid}`, { json: { name: 'dan', tags: { team: 'docs' } } });
  await of.send('PATCH', `/instances/${ada}`, { json: { tags: {} } });
  assert.equal(await namesIn(of, docs), ['bob', 'dan']);
  await of.send('DELETE', `/instances/${bob}`);
  assert.equal(await namesIn(of, docs), ['dan']);
  assert.equal(await namesIn(of, `${docs}&stress=MED,HIGH,OVER`), []);
});

// Catches a cursor that forgets the filter, and a total of the page or of all instances.
filtering(
  'continues by cursor with the same filter, and has the total of the matches',
  async () => {
    const of = await newCaller();
    for (const n of [1, 2, 3, 4, 5]) {
      await of.createInstance({ name: `n${n}`, tags: { parity: n % 2 === 0 ? 'even' : 'odd' } });
    }
    for (const sort of ['created_at', 'name', 'changed_at']) {
      const seen: string[] = [];
      let query = `tag.parity=odd&sort=${sort}&order=asc&limit=1`;
      for (let page = 0; page < 3; page += 1) {
        const { body } = await list(of, query);
        seen.push(...body.data.map(({ name }: Listed) => name));
        assert.is(body.pagination.total, 3, sort);
        assert.is(body.pagination.has_more, page < 2, sort);
        query = `limit=1&cursor=${body.pagination.next_cursor}`;
      }
      assert.equal(seen.sort(), ['n1', 'n3', 'n5'], sort);
    }
  },
);

// Catches a time that an observation without an event moves, and an order by creation.
filtering('is sorted by the newest event', async () => {
  const of = await newCaller();
  const ada = await of.createInstance({ name: 'ada' });
  await of.createInstance({ name: 'bob' });
  assert.equal(await namesIn(of, 'sort=changed_at'), ['bob', 'ada']);
  await stress(of, ada);
  assert.equal(await namesIn(of, 'sort=changed_at'), ['ada', 'bob']);
  const { body } = await list(of, 'sort=changed_at&search=bob');
  assert.equal([body.data.length, body.pagination.total], [1, 1]);
});

// Catches a cursor that repeats events of the answer, or misses the next event.
filtering('says up to which event it is complete', async () => {
  const of = await newCaller();
  const ada = await of.createInstance({ name: 'ada' });
  await recorded(of, 'created', ada);
  const { body } = await list(of, 'stress=LOW');
  const { time, events_cursor } = body.as_of;
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < LATE_MS);
  await of.send('PATCH', `/instances/${ada}`, { json: { name: 'Ada' } });
  const next = await of.send('GET', `/events?wait=8&cursor=${events_cursor}`);
  assert.equal(
    next.body.data.map(({ type }: { type: string }) => type),
    ['renamed'],
  );
  assert.is((await of.send('GET', '/instances')).body.as_of, undefined);
});

const refused = suite('a refused filter');

/** A cursor that somebody made, with a filter that selects nothing. */
const EMPTY_FILTER = Buffer.from(
  JSON.stringify(['f', [null, null, null, []], null, 'created_at', 'desc', null, 1, 1, 'inst_0']),
).toString('base64url');

for (const [query, field] of [
  ['stress=PANIC', 'stress'],
  ['stress=', 'stress'],
  ['drift=D4', 'drift'],
  ['dominant_mode=ORDER', 'dominant_mode'],
  ['sort=changed', 'sort'],
  ['sort=changed_at&offset=1', 'offset'],
  [`tag.team=${'x'.repeat(257)}`, 'tag.team'],
  ['tag.team=a&tag.team=b', 'tag.team'],
  ['tag=team', 'tag'],
  ['tag.=x', 'tag.'],
  ['tag.__proto__=x', 'tag.__proto__'],
  [`tag.${'k'.repeat(65)}=x`, `tag.${'k'.repeat(65)}`],
  ['tag.a=%00', 'tag.a'],
  ['tag.a%00=x', 'tag.a\0'],
  ['tag.a=%ED%A0%80', 'tag.a'],
  [`tag.a=${'%01'.repeat(256)}&tag.b=${'%01'.repeat(256)}`, 'tag'],
  ['stress=LOW&stress=HIGH', 'stress'],
  [`cursor=${EMPTY_FILTER}`, 'cursor'],
  ['tag.a=1&tag.b=1&tag.c=1&tag.d=1&tag.e=1', 'tag'],
]) {
  refused(`such as ?${query?.slice(0, 30)} is answered 400 with the parameter's name`, async () => {
    const answer = await caller.send('GET', `/instances?${query}`);
    assertRefused(answer, 400, 'invalid_request', { field, reason: 'invalid_parameter' });
  });
}

// Catches a filter that a misspelled name leaves out.
refused('has an unknown parameter', async () => {
  const answer = await caller.send('GET', '/instances?tags.team=docs');
  assertRefused(answer, 400, 'invalid_request', {
    field: 'tags.team',
    reason: 'unknown_parameter',
  });
});

refused('differs from the filter in the cursor', async () => {
  const of = await newCaller();
  for (const name of ['a', 'b']) await of.createInstance({ name, tags: { team: 'docs' } });
  const { body } = await list(of, 'tag.team=docs&stress=LOW&limit=1');
  const cursor = `cursor=${body.pagination.next_cursor}`;
  for (const [query, field] of [
    ['stress=HIGH', 'stress'],
    ['drift=D0', 'drift'],
    ['tag.team=ops', 'tag'],
  ]) {
    const answer = await of.send('GET', `/instances?${cursor}&${query}`);
    assertRefused(answer, 400, 'invalid_request', { field, reason: 'invalid_parameter' });
  }
  assert.is((await list(of, `${cursor}&tag.team=docs&stress=LOW`)).status, 200);
});

for (const group of [filtering, refused]) group.run();
