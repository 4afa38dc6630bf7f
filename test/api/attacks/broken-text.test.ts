import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, sharedScene } from '#test/support/calls/scene';

const { newCaller } = await sharedScene();
const caller = await newCaller({ requestsPerMinute: 1_000 });
const json = { 'content-type': 'application/json' };
const post = (path: string, body: string) => caller.send('POST', path, { body, headers: json });

const LONE = '\\ud83d';
const observation = (more: string) => `{"mode_target":"ORDER","signal_strength":0.5${more}}`;

const halves = suite('half a surrogate pair');

for (const [where, context] of [
  ['a value', `{"a":"${LONE}"}`],
  ['a nested value', `{"a":[1,{"b":"x${LONE}y"}]}`],
  ['a key', `{"${LONE}":1}`],
  ['a nested key', `{"a":{"b":[{"\\uDE00":1}]}}`],
  ['a reversed pair', `{"a":"\\ude00\\ud83d"}`],
] as const) {
  // Report 4: half a surrogate pair in a context was stored, and made its history unreadable.
  halves(`in ${where} of a context is refused by every call with a context`, async () => {
    const id = await caller.createInstance();
    const single = observation(`,"context":${context}`);
    const list = `{"observations":[${observation('')},${single}]}`;
    for (const [path, body, field] of [
      ['process', single, 'context'],
      ['process/batch', list, 'observations[1].context'],
      ['simulate', list, 'observations[1].context'],
    ] as const) {
      const answer = await post(`/instances/${id}/${path}`, body);
      assertRefused(answer, 422, 'invalid_request', { field, reason: 'invalid_text' });
    }
    assert.is((await caller.send('GET', `/instances/${id}`)).body.data.cycle_count, 0);
  });
}

halves('is refused in every other text, and in field names', async () => {
  const id = await caller.createInstance();
  for (const [method, path, body, field] of [
    ['POST', '/instances', `{"name":"${LONE}"}`, 'name'],
    ['POST', '/instances', `{"name":"a","description":"${LONE}"}`, 'description'],
    ['POST', '/instances', `{"name":"a","${LONE}":1}`, '\ufffd'],
    ['PATCH', `/instances/${id}`, `{"name":"${LONE}"}`, 'name'],
    ['POST', `/instances/${id}/reset`, `{"mode":"${LONE}"}`, 'mode'],
    ['POST', '/test/submit', `{"answers":[{"question_id":"${LONE}"}]}`, 'answers[0].question_id'],
    ['POST', '/billing/portal', `{"return_url":"https://a/${LONE}"}`, 'return_url'],
  ] as const) {
    const answer = await caller.send(method, path, { body, headers: json });
    assertRefused(answer, 422, 'invalid_request', { field, reason: 'invalid_text' });
  }
});

halves('is not confused with a complete pair or with similar text', async () => {
  const id = await caller.createInstance();
  const context = `{"\\ud83d\\ude00":"\\ud83d\\ude00","b":"\\\\ud83d"}`;
  const answer = await post(`/instances/${id}/process`, observation(`,"context":${context}`));
  assert.is(answer.status, 200, answer.text);
});

const query = suite('a query');

for (const [search, field] of [
  ['search=%E4', 'search'],
  ['search=a%', 'search'],
  ['search=%ED%A0%BD', 'search'],
  ['limit=1&search=%C3', 'search'],
  ['%E4=1', 'query'],
] as const) {
  // Report 25: search=%E4 was answered 200 without any row.
  query(`that is not UTF-8 is answered 400: ${search}`, async () => {
    const details = { field, reason: 'invalid_parameter' };
    assertRefused(
      await caller.send('GET', `/instances?${search}`),
      400,
      'invalid_request',
      details,
    );
  });
}

query('that is valid UTF-8 is accepted', async () => {
  await caller.createInstance({ name: 'Käthe 100%' });
  for (const search of ['K%C3%A4THE', '100%25', '%C3%A4the+100']) {
    const { body } = await caller.send('GET', `/instances?search=${search}`);
    assert.is(body.pagination.total, 1, search);
  }
});

const mark = suite('a body with a byte order mark');

// Report 25: a byte order mark was refused without being named.
mark('is refused with a message that names the mark', async () => {
  const answer = await post('/instances', '\ufeff{"name":"a"}');
  assertRefused(answer, 400, 'invalid_request', { reason: 'malformed_json' });
  assert.match(answer.body.message, /byte order mark/);
});

for (const group of [halves, query, mark]) group.run();
