import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  assertRefused,
  observationAt,
  type SceneCaller,
  sharedScene,
} from '#test/support/calls/scene';

const { newCaller } = await sharedScene();

type Row = { readonly id: string; readonly name: string; readonly cycle: number };

/** Reads all pages of a list with cursors. Calls `between` after each page but the last. */
async function walk(
  caller: SceneCaller,
  path: string,
  query: string,
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 50; page += 1) {
    const search = cursor === null ? query : `limit=3&cursor=${encodeURIComponent(cursor)}`;
    const { status, body, text } = await caller.send('GET', `${path}?${search}`);
    assert.is(status, 200, text);
    const { pagination } = body;
    assert.is(pagination.offset, rows.length);
    rows.push(...body.data);
    assert.is(pagination.has_more, pagination.next_cursor !== null);
    cursor = pagination.next_cursor;
    if (cursor === null) return rows;
    await between(page);
  }
  throw new Error('the list has too many pages');
}

/** Creates ten instances, named b00 to b09. Returns their ids. */
async function named(caller: SceneCaller): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < 10; n += 1) ids.push(await caller.createInstance({ name: `b0${n}` }));
  return ids;
}

const rename = (caller: SceneCaller, id: string | undefined, name: string) =>
  caller.send('PATCH', `/instances/${id}`, { json: { name } });
const countsOf = (rows: readonly Row[], ids: readonly string[]) =>
  ids.map((id) => rows.filter((row) => row.id === id).length);

const instances = suite('paging through instances by cursors');

for (const sort of ['created_at', 'name']) {
  for (const order of ['asc', 'desc']) {
    for (const search of ['', '&search=b0']) {
      // Report 5: iterating while instances came and went skipped and repeated rows.
      instances(`by ${sort} ${order}${search} shows each remaining instance once`, async () => {
        const caller = await newCaller({ requestsPerMinute: 1_000 });
        const ids = await named(caller);
        const query = `limit=3&sort=${sort}&order=${order}${search}`;
        const gone = [ids[0], ids[5], ids[9]];
        const rows = await walk(caller, '/instances', query, async (page) => {
          const leaving = gone[page];
          if (leaving !== undefined) await caller.send('DELETE', `/instances/${leaving}`);
          const added = page < 3 ? ['a', 'b04b', 'z'] : [];
          for (const name of added) await caller.createInstance({ name });
        });
        const staying = ids.filter((id) => !gone.includes(id));
        assert.equal(
          countsOf(rows, staying),
          staying.map(() => 1),
        );
      });

      instances(`by ${sort} ${order}${search} shows each renamed instance once`, async () => {
        const caller = await newCaller({ requestsPerMinute: 1_000 });
        const ids = await named(caller);
        const query = `limit=3&sort=${sort}&order=${order}${search}`;
        const rows = await walk(caller, '/instances', query, async (page) => {
          // New names move rows to the other end of the list, and back. Some rows move before the
          // walk has shown them, others afterwards.
          await rename(caller, ids[0], `zb0${page}`);
          await rename(caller, ids[9], `ab0${page}`);
          await rename(caller, ids[8], page % 2 === 0 ? 'zzb0' : 'b08');
          await rename(caller, ids[page + 2], page % 2 === 0 ? `ab0${page}` : `zb0${page}`);
        });
        assert.equal(
          countsOf(rows, ids),
          ids.map(() => 1),
        );
      });
    }
  }
}

instances('shows the same order as offsets if nothing changes', async () => {
  const caller = await newCaller({ requestsPerMinute: 1_000 });
  await named(caller);
  for (const query of ['sort=name&order=asc', 'sort=created_at&order=desc', 'search=B0']) {
    const { data } = (await caller.send('GET', `/instances?limit=100&${query}`)).body;
    assert.equal(await walk(caller, '/instances', `limit=3&${query}`), data);
  }
});

instances('may start at an offset', async () => {
  const caller = await newCaller({ requestsPerMinute: 1_000 });
  await named(caller);
  const all = (await caller.send('GET', '/instances?limit=100&order=asc')).body.data;
  const first = await caller.send('GET', '/instances?offset=4&limit=3&order=asc');
  const { next_cursor } = first.body.pagination;
  const { body } = await caller.send('GET', `/instances?limit=3&cursor=${next_cursor}`);
  assert.equal(body.data, all.slice(7));
  assert.equal(body.pagination, {
    ...{ limit: 3, offset: 7, total: 10, has_more: false },
    next_cursor: null,
  });
});

const records = suite('paging through an instance’s rows by cursors');

for (const list of ['history', 'drift']) {
  for (const generation of ['current', 'all']) {
    records(`shows each row of ${list}?generation=${generation} once`, async () => {
      const caller = await newCaller({ requestsPerMinute: 1_000 });
      const id = await caller.createInstance({
        initial_config: { mode_strengths: { order: 0.8, identity: 0.6 } },
      });
      const push = (n: number) => {
        const mode_target = n % 2 === 0 ? 'EXPLORATION' : 'ASSERTION';
        return caller.process(id, { ...observationAt(n * 2), mode_target, signal_strength: 1 });
      };
      for (let n = 0; n < 30; n += 1) await push(n);
      const path = `/instances/${id}/${list}`;
      const whole = (await caller.send('GET', `${path}?limit=1000&generation=${generation}`)).body;
      assert.ok(whole.data.length > 6, 'several pages');
      let next = 30;
      const rows = await walk(caller, path, `limit=3&generation=${generation}`, async (page) => {
        await push(next++);
        if (page === 1) {
          await caller.send('POST', `/instances/${id}/reset`, { json: { mode: 'initial' } });
        }
      });
      assert.equal(rows, whole.data);
    });
  }
}

const refused = suite('a cursor');

refused('that does not belong to the list and query is answered 400', async () => {
  const caller = await newCaller({ requestsPerMinute: 1_000 });
  const ids = await named(caller);
  for (const id of ids.slice(0, 2)) {
    for (let n = 0; n < 3; n += 1) await caller.process(id, observationAt(n));
  }
  const cursorOf = async (path: string) =>
    (await caller.send('GET', path)).body.pagination.next_cursor;
  const list = await cursorOf('/instances?limit=2&sort=name&search=b');
  const history = await cursorOf(`/instances/${ids[0]}/history?limit=2`);
  const other = `/instances/${ids[1]}/history`;
  for (const [path, field] of [
    ['/instances?cursor=', 'cursor'],
    ['/instances?cursor=abc', 'cursor'],
    ['/instances?cursor=W10', 'cursor'],
    [`/instances?cursor=${history}`, 'cursor'],
    [`/instances?cursor=${'A'.repeat(1_025)}`, 'cursor'],
    [`/instances?cursor=${list}&offset=0`, 'offset'],
    [`/instances?cursor=${list}&sort=created_at`, 'sort'],
    [`/instances?cursor=${list}&order=asc`, 'order'],
    [`/instances?cursor=${list}&search=c`, 'search'],
    [`${other}?cursor=${history}`, 'cursor'],
    [`${other}?cursor=${list}`, 'cursor'],
    [`/instances/${ids[0]}/drift?cursor=${history}`, 'cursor'],
    [`/instances/${ids[0]}/history?cursor=${history}&generation=all`, 'generation'],
    [`/instances/${ids[0]}/history?cursor=${history}&offset=1`, 'offset'],
  ] as const) {
    const details = { field, reason: 'invalid_parameter' };
    assertRefused(await caller.send('GET', path), 400, 'invalid_request', details);
  }
  const same = `/instances?cursor=${list}&sort=name&order=desc&search=b&limit=9`;
  assert.is((await caller.send('GET', same)).status, 200);
});

for (const group of [instances, records, refused]) group.run();
