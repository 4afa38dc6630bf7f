import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertRefused, limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const STALE = '"snap_0000000000000000"';
const MISMATCH = { field: 'If-Match', reason: 'version_mismatch' };
type Sent = { json?: unknown; headers?: Record<string, string> };
const on =
  (id: string) =>
  (method: string, path: string, sent: Sent = {}) =>
    caller.send(method, `/instances/${id}${path}`, sent);
const tagOf = async (id: string) =>
  (await caller.send('GET', `/instances/${id}`)).headers.get('etag') ?? '';

const tags = suite('the ETag of an instance');

tags('is the same on instance, snapshot and contract', async () => {
  const id = await caller.createInstance();
  const found = new Set<string | null>();
  for (const path of ['', '/snapshot', '/contract']) {
    found.add((await on(id)('GET', path)).headers.get('etag'));
  }
  assert.is(found.size, 1);
  assert.match([...found][0] ?? '', /^"snap_[0-9a-f]{16}"$/);
});

tags('changes with every write, and the write’s answer has the new tag', async () => {
  const id = await caller.createInstance();
  const seen = new Set([await tagOf(id)]);
  const changes: readonly [method: string, path: string, json: unknown][] = [
    ['PATCH', '', { name: 'x' }],
    ['PATCH', '', { name: 'x' }],
    ['POST', '/process', observationAt(0)],
    ['POST', '/process/batch', { observations: [observationAt(1), observationAt(2)] }],
    ['POST', '/reset', { mode: 'initial' }],
    ['POST', '/reset', { mode: 'default' }],
  ];
  for (const [index, [method, path, json]] of changes.entries()) {
    const tag = (await on(id)(method, path, { json })).headers.get('etag') ?? '';
    assert.is(tag, await tagOf(id), `${method} ${path}`);
    seen.add(tag);
    assert.is(seen.size, index + 2, `${method} ${path}`);
  }
});

tags('stays the same when an observation is throttled', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(10));
  const tag = await tagOf(id);
  const throttled = await on(id)('POST', '/process', { json: observationAt(10) });
  assert.is(throttled.headers.get('x-throttled'), 'true');
  assert.is(throttled.headers.get('etag'), tag);
});

tags('is not on lists, history, drift, personas or tests', async () => {
  const id = await caller.createInstance();
  const paths = ['/instances', `/instances/${id}/history`, `/instances/${id}/drift`];
  for (const path of [...paths, '/personas', '/personas/persona_leader', '/test/questions']) {
    assert.is((await caller.send('GET', path)).headers.get('etag'), null, path);
  }
});

tags('differs between instances', async () => {
  assert.is.not(
    await tagOf(await caller.createInstance()),
    await tagOf(await caller.createInstance()),
  );
});

const GUARDED: readonly [method: string, path: string, json?: unknown][] = [
  ['PATCH', '', { name: 'changed' }],
  ['POST', '/reset', { mode: 'initial' }],
  ['DELETE', ''],
];

const matching = suite('a write with If-Match');

for (const [method, path, json] of GUARDED) {
  const what = `${method} ${path}`.trim();
  const sentWith = (condition: string): Sent => ({
    ...(json === undefined ? {} : { json }),
    headers: { 'if-match': condition },
  });

  for (const form of ['the tag', 'any tag (*)', 'a list with the tag']) {
    matching(`by ${what} that names ${form} is answered 200`, async () => {
      const id = await caller.createInstance();
      const tag = await tagOf(id);
      const conditions = { 'the tag': tag, 'any tag (*)': '*' };
      const condition = new Map(Object.entries(conditions)).get(form) ?? `${STALE} , ${tag}`;
      assert.is((await on(id)(method, path, sentWith(condition))).status, 200);
    });
  }

  matching(`by ${what} that names a former tag is answered 409 and changes nothing`, async () => {
    const id = await caller.createInstance();
    const former = await tagOf(id);
    await caller.process(id, observationAt(0));
    const tag = await tagOf(id);
    assertRefused(await on(id)(method, path, sentWith(former)), 409, 'conflict', MISMATCH);
    assertRefused(await on(id)(method, path, sentWith(`W/${tag}`)), 409, 'conflict', MISMATCH);
    assert.is(await tagOf(id), tag);
  });

  matching(`by ${what} without a well-formed tag is answered 400`, async () => {
    const id = await caller.createInstance();
    const tag = await tagOf(id);
    for (const condition of ['', 'snap_1', tag.replaceAll('"', ''), `${tag} ${tag}`]) {
      const details = { field: 'If-Match', reason: 'invalid_header' };
      const answer = await on(id)(method, path, sentWith(condition));
      assertRefused(answer, 400, 'invalid_request', details);
    }
    assert.is(await tagOf(id), tag);
  });

  matching(`by ${what} to an unknown instance is answered 404, not 409`, async () => {
    const answer = await on('inst_0123456789abcdef')(method, path, sentWith(STALE));
    assertRefused(answer, 404, 'not_found');
  });
}

matching('by process is answered 200, because process ignores the header', async () => {
  const id = await caller.createInstance();
  const headers = { 'if-match': STALE };
  const answer = await on(id)('POST', '/process', { json: observationAt(0), headers });
  assert.is(answer.status, 200);
});

const unguarded = suite('a write without If-Match');

unguarded('overwrites the previous write', async () => {
  const id = await caller.createInstance();
  await on(id)('PATCH', '', { json: { name: 'first' } });
  assert.is((await on(id)('PATCH', '', { json: { name: 'second' } })).body.data.name, 'second');
});

matching('that is sent twice with the same tag is answered 200 once and 409 once', async () => {
  const id = await caller.createInstance();
  const headers = { 'if-match': await tagOf(id) };
  const answers = await Promise.all(
    ['a', 'b'].map((name) => on(id)('PATCH', '', { json: { name }, headers })),
  );
  assert.equal(answers.map(({ status }) => status).toSorted(), [200, 409]);
});

const reading = suite('a read with If-None-Match');

for (const path of ['', '/snapshot', '/contract']) {
  const what = `GET ${path}`.trim();

  reading(`by ${what} that names the tag is answered 304 without a body`, async () => {
    const id = await caller.createInstance();
    const tag = await tagOf(id);
    for (const condition of [tag, `W/${tag}`, '*', `${STALE}, ${tag}`]) {
      const answer = await on(id)('GET', path, { headers: { 'if-none-match': condition } });
      assert.is(answer.status, 304, condition);
      assert.is(answer.text, '');
      assert.is(answer.headers.get('etag'), tag);
    }
  });

  reading(`by ${what} after a change is answered 200`, async () => {
    const id = await caller.createInstance();
    const headers = { 'if-none-match': await tagOf(id) };
    await caller.process(id, observationAt(0));
    assert.is((await on(id)('GET', path, { headers })).status, 200);
  });

  reading(`by ${what} without a matching tag is answered 200`, async () => {
    const id = await caller.createInstance();
    for (const condition of [STALE, 'nonsense', '']) {
      const answer = await on(id)('GET', path, { headers: { 'if-none-match': condition } });
      assert.is(answer.status, 200, condition);
    }
  });
}

reading('of an unknown instance is answered 404', async () => {
  const headers = { 'if-none-match': '*' };
  assertRefused(await on('inst_0123456789abcdef')('GET', '', { headers }), 404, 'not_found');
});

reading('that is answered 304 costs a request', async () => {
  const id = await caller.createInstance();
  const headers = { 'if-none-match': '*' };
  const [first, second] = [
    await on(id)('GET', '', { headers }),
    await on(id)('GET', '', { headers }),
  ];
  assert.is(limitOf(second, 'remaining'), limitOf(first, 'remaining') - 1);
});

reading('of history, drift or the list is answered 200, because they have no tag', async () => {
  const id = await caller.createInstance();
  const headers = { 'if-none-match': '*' };
  for (const path of ['/history', '/drift']) {
    assert.is((await on(id)('GET', path, { headers })).status, 200);
  }
  assert.is((await caller.send('GET', '/instances', { headers })).status, 200);
});

for (const each of [tags, matching, unguarded, reading]) each.run();
