import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OFFSET } from '#identity/state';
import { type Cluster, ctlOn } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import {
  ACCOUNT,
  changed,
  closed,
  exportOf,
  IDS,
  importOf,
  source,
  target,
} from '#test/ctl/export/export-fixture';
import { ACCOUNT_ID, CREATE } from '#test/engine/instance/instance-fixture';
import { headAt, storeOne } from '#test/storage/contracts/rows';
import { memoryShardStore } from '#test/storage/memory/shard-store';

/** Number of positions at which a test changes a byte, or cuts the file. */
const PLACES = 40;

let from: Cluster;
let to: Cluster;
let written = '';

/** One source and one target serve all tests: a refused import may write nothing to the target. */
const refused = suite('an import is refused, and writes nothing,');

refused.before(async () => {
  from = await source();
  to = await target();
  written = await exportOf(from);
});
refused.after(async () => {
  await from?.[Symbol.asyncDispose]();
  await to?.[Symbol.asyncDispose]();
});

/** The one-line error of a refused import. */
async function refusal(text: string | Buffer): Promise<string> {
  const { code, out, err } = await importOf(to, text);
  assert.equal([code, out], [1, '']);
  assert.match(err, /^ctl: [^\n]+$/);
  await assertNothing();
  return err;
}

async function assertNothing(): Promise<void> {
  const { accounts, listings, instances } = to.stores;
  assert.is(await accounts.find(ACCOUNT_ID), undefined);
  assert.equal(await listings.load(ACCOUNT_ID), []);
  for (const id of Object.values(IDS)) {
    assert.is(await instances.readHead(id), undefined);
    assert.equal(await instances.readHistory(id, 1_000, 1_000), []);
  }
}

const linesOf = (text: string) => text.trimEnd().split('\n');

refused('if the file is truncated at any position', async () => {
  const lines = linesOf(written);
  const cuts = Array.from({ length: 12 }, (_, index) => 1 + index * 3);
  for (const count of [...cuts, lines.length - 2, lines.length - 1]) {
    const text = lines.slice(0, count).map((line) => `${line}\n`);
    assert.match(await refusal(text.join('')), /: the file is cut off: the last line is missing$/);
  }
  for (let place = 1; place < PLACES; place += 1) {
    const cut = written.slice(0, Math.floor((written.length * place) / PLACES));
    if (!cut.endsWith('\n')) assert.match(await refusal(cut), /cut off/);
  }
  assert.match(await refusal(written.slice(0, -1)), /line \d+: the file is cut off in this line$/);
  assert.match(await refusal(''), /FILE is empty$/);
});

refused('if one byte is changed', async () => {
  const bytes = Buffer.from(written);
  for (let place = 0; place < PLACES; place += 1) {
    const spoilt = Buffer.from(bytes);
    const at = Math.floor((bytes.length * place) / PLACES);
    spoilt.writeUInt8(spoilt.readUInt8(at) ^ 1, at);
    assert.match(await refusal(spoilt), /FILE, line \d+: /);
  }
});

refused('if the file contains two exports', async () => {
  const lines = linesOf(written).length;
  const behind = `ctl: FILE, line ${lines}: the file has more lines after the last line`;
  assert.is(await refusal(written + written), behind);
  assert.is(await refusal(`${written}\n`), behind);
});

refused('if the file has another version, or is no export', async () => {
  const newer = changed(written, 'export', (line) => ({ ...line, version: 2 }));
  assert.is(await refusal(newer), 'ctl: FILE, line 1: version: this program reads version 1 only');
  const grown = changed(written, 'export', (line) => ({ ...line, version: 2, more: 1 }));
  assert.match(await refusal(grown), /line 1: version: this program reads version 1 only$/);
  assert.match(await refusal('{"a":1}\n'), /^ctl: FILE, line 1: kind: /);
  assert.match(await refusal('hello\n'), /^ctl: FILE, line 1: the line is not JSON$/);
  assert.match(await refusal('{"kind":"drift"}\n'), /^ctl: FILE, line 1: /);
  assert.match(await refusal('x'.repeat(2_000_000)), /line 1: the line is too long$/);
  const { err } = await ctl(['import', '/nowhere/at/all'], { cluster: to.ports });
  assert.is(err, 'ctl: /nowhere/at/all cannot be read: ENOENT');
  const nothing = await ctl(['import', '/dev/null'], { cluster: to.ports });
  assert.is(nothing.err, 'ctl: /dev/null is not a regular file: the import reads the file twice');
});

refused('if a field is wrong, with an error that names the line and the field', async () => {
  const wrong = (kind: string, fields: object) =>
    refusal(changed(written, kind, (line) => ({ ...line, ...fields })));
  assert.match(await wrong('account', { plan: 'gold' }), /^ctl: FILE, line 2: plan: /);
  assert.match(await wrong('account', { status: 'deleting' }), /line 2: status: /);
  assert.match(await wrong('account', { id: 'Acc0unt00002' }), /line \d: id: the first line names/);
  assert.match(await wrong('key', { digest: 'x' }), /line 3: digest: /);
  assert.match(await wrong('instance', { id: 'inst_1' }), /line 6: id: /);
  assert.match(await wrong('instance', { model: 'AAAA' }), /line 6: model: 3 bytes, not 101/);
  assert.match(await wrong('instance', { more: 1 }), /line 6: .*more/);
  assert.match(await wrong('observation', { mode: 'ORDER' }), /line \d+: mode: /);
  assert.match(await wrong('observation', { signal: 2 }), /line \d+: signal: /);
  assert.match(
    await wrong('observation', { context: '[]' }),
    /line \d+: context: must be an object/,
  );
  assert.match(await wrong('drift', { deviation: '{' }), /line \d+: deviation: unexpected JSON/);
  assert.match(await wrong('drift', { level: 'D0' }), /line \d+: level: /);
});

// Report 13: an import accepted what the API refuses: raw newlines, duplicate keys, 20,000 levels, limits above the plan.
refused('if the API would refuse a text or a number', async () => {
  const wrong = (kind: string, fields: object) =>
    refusal(changed(written, kind, (line) => ({ ...line, ...fields })));
  const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const seventeen = `{"a":${'['.repeat(16)}${']'.repeat(16)}}`;
  for (const [context, why] of [
    ['{"a":1,\n"b":2}', /is not in the compact form that the service writes$/],
    ['{"a": 1}', /is not in the compact form/],
    ['{"a":1,"a":2}', /has a duplicate key$/],
    ['{"a":1},"b":{"c":2}', /is not in the compact form/],
    ['{"__proto__":1}', /__proto__: unknown field$/],
    [deep, /nesting is too deep$/],
    [seventeen, /has more than 16 levels$/],
    [`{"a":"${'x'.repeat(8_192)}"}`, /is longer than 8192 bytes of JSON$/],
    ['{"a":1e999}', /has a number that is not finite$/],
  ] as const) {
    const line = await wrong('observation', { context });
    assert.match(line, /^ctl: FILE, line \d+: context: /);
    assert.match(line, why);
  }
  for (const [deviation, affected] of [
    ['{"ORDER":0.5,\n"x":1}', '[]'],
    ['{"ORDER":0.5,"ORDER":0.6}', '[]'],
    ['{}', '["ORDER",\n"x"]'],
    ['{}', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
  ]) {
    const line = await wrong('drift', { deviation, affected_modes: affected });
    assert.match(line, /line \d+: (deviation|affected_modes): /);
  }
  assert.match(await wrong('instance', { name: '' }), /line 6: name: is shorter than 1/);
  assert.match(await wrong('instance', { name: 'x'.repeat(101) }), /line 6: name: is longer/);
  assert.match(await wrong('instance', { name: 'a\ud800' }), /line 6: name: .*surrogate/);
  assert.match(await wrong('instance', { description: 'x'.repeat(2_001) }), /on: is longer/);
  assert.match(
    await wrong('account', { plan: 'pro', cycles_per_month: 500_001 }),
    /exceed the limits of the plan/,
  );
  const second = written.replace('"kind":"instance",', '"kind":"instance","version":1,');
  assert.match(await refusal(second), /line 6: duplicate JSON key$/);
  assert.match(await refusal(`{"a":${deep}}\n`), /line 1: the JSON is nested too deep$/);
});

// Report 4: an import took half a surrogate pair, which the API refuses.
refused('if a text has half a surrogate pair', async () => {
  const wrong = (kind: string, fields: object) =>
    refusal(changed(written, kind, (line) => ({ ...line, ...fields })));
  const half = /lone surrogate/;
  for (const field of ['name', 'description']) {
    assert.match(await wrong('instance', { [field]: 'a\ud83d' }), half);
  }
  for (const context of ['{"a":["\\ud83d"]}', '{"a":{"\\ude00":1}}', '{"a":"\ud83d"}']) {
    assert.match(await wrong('observation', { context }), half, context);
  }
});

refused('if a head does not follow from its rows', async () => {
  const wrong = (kind: string, change: (line: Record<string, unknown>) => object) =>
    refusal(changed(written, kind, change));
  const vector = (text: unknown) => Buffer.from(String(text), 'base64');
  const spoilt = await wrong('instance', (line) => {
    const model = vector(line['model']);
    model.writeDoubleLE(0.5, OFFSET.cycle * Float64Array.BYTES_PER_ELEMENT);
    return { ...line, model: model.toString('base64') };
  });
  assert.match(spoilt, /line 6: inst_\w+ contradicts its rows: cycle is 0\.5; the replay/);
  const stronger = await wrong('observation', (line) => ({ ...line, signal: 0.25 }));
  assert.match(stronger, /line \d+: inst_\w+ contradicts its rows: /);
  const planted = await wrong('state', (line) => {
    const model = vector(line['model']);
    model.writeDoubleLE(0.5, OFFSET.energy * Float64Array.BYTES_PER_ELEMENT);
    return { ...line, model: model.toString('base64') };
  });
  assert.match(planted, /line \d+: inst_\w+ contradicts its rows: the state at cycle \d+ of/);
  const misplaced = await wrong('state', (line) => ({ ...line, ordinal: 9_999 }));
  assert.match(misplaced, /line \d+: state: cycle \d+ of generation \d+ is out of place/);
  const other = await wrong('instance', (line) => ({ ...line, model_version: '0.1' }));
  assert.match(other, /line 6: inst_\w+ needs model 0\.1; this program has 1\.0, 1\.1$/);
});

refused(
  'if the program lacks the model, even if the state of the model has another length',
  async () => {
    const newer = { model_version: '9.9', model: 'AAAA' };
    for (const kind of ['account', 'instance']) {
      const fields = kind === 'account' ? { model_version: '9.9' } : newer;
      const text = await refusal(changed(written, kind, (line) => ({ ...line, ...fields })));
      assert.match(
        text,
        /line [26]: (the account|inst_\w+) needs model 9\.9; this program has 1\.0, 1\.1$/,
      );
    }
  },
);

refused('if rows are missing, repeated or in another order', async () => {
  const lines = linesOf(written);
  const end = JSON.parse(lines.at(-1) ?? '');
  const body = lines.slice(0, -1);
  const without = (place: number) => body.toSpliced(place, 1);
  const row = body.findIndex((line) => line.startsWith('{"kind":"observation"'));
  const fewer = { ...end, observations: end.observations - 1 };
  const counted = { ...end, observations: 1 };
  const wrong = /observations: the last line has 1, but the file has 764/;
  assert.match(await refusal(closed(body, counted)), wrong);
  assert.match(await refusal(closed(without(row), fewer)), /row 1 is missing; row 2 follows/);
  const swapped = [...body];
  [swapped[row], swapped[row + 1]] = [body[row + 1] ?? '', body[row] ?? ''];
  assert.match(await refusal(closed(swapped, end)), /row 1 is missing/);
  const drift = body.findIndex((line) => line.startsWith('{"kind":"drift"'));
  const less = { ...end, drift_events: end.drift_events - 1 };
  assert.match(await refusal(closed(without(drift), less)), /drift event 2 cannot follow 0/);
  const orphan = [...body, body[row] ?? ''];
  const more = { ...end, observations: end.observations + 1 };
  assert.match(await refusal(closed(orphan, more)), /unexpected line of kind observation/);
});

const taken = suite('an import is refused');

taken('if the account exists already, even with the same content', async () => {
  await using fresh = await target();
  assert.is((await importOf(fresh, written)).code, 0);
  const { code, err } = await importOf(fresh, written);
  const text = 'exists already (suspended): nothing was imported';
  assert.equal([code, err], [1, `ctl: account ${ACCOUNT_ID} ${text}`]);
});

taken('if an instance exists in another account', async () => {
  await using fresh = await target();
  const head = { ...headAt(3), accountId: 'Acc0unt00002' };
  const rows = { history: [], drift: [], answers: [] };
  await storeOne(fresh.stores.instances, IDS.long, { head, ...rows });
  const { code, err } = await importOf(fresh, written);
  assert.is(code, 1);
  assert.match(err, /line \d+: inst_00000000000000a4 exists already in another account$/);
  assert.is(await fresh.stores.accounts.find(ACCOUNT_ID), undefined);
  assert.equal(await fresh.stores.listings.load(ACCOUNT_ID), []);
});

taken('if the account was deleted here', async () => {
  await using fresh = await target();
  const { accounts } = fresh.stores;
  await accounts.create(ACCOUNT);
  await accounts.beginDeletion(ACCOUNT_ID, 1);
  await accounts.endDeletion(ACCOUNT_ID);
  const { code, err } = await importOf(fresh, written);
  const text = 'was deleted here: the id of a deleted account cannot be imported';
  assert.equal([code, err], [1, `ctl: account ${ACCOUNT_ID} ${text}`]);
});

taken('if no engine has ever started', async () => {
  const cluster = { ...to.ports, shards: memoryShardStore() };
  const { code, err } = await ctl(['import', 'x'], { cluster });
  assert.is(code, 1);
  assert.match(err, /no engine has ever owned a shard/);
});

taken('if an interrupted import left an instance that the file lacks', async () => {
  await using fresh = await target();
  await fresh.stores.accounts.create({ ...ACCOUNT, status: 'importing' });
  await fresh.ask('inst_00000000000000ff', CREATE);
  const { code, err } = await importOf(fresh, written);
  assert.is(code, 1);
  assert.match(err, /has 5 instances instead of 4: /);
  assert.is((await fresh.stores.accounts.find(ACCOUNT_ID))?.account.status, 'importing');
  assert.match(await ctlOn(fresh).text('verify', IDS.long), /bit for bit/);
});

refused.run();
taken.run();
