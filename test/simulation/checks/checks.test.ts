import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { etagOf } from '#engine/instance/keyed-answers';
import { OBSERVATIONS } from '#storage/ports/rows';
import { markOf, nameOf, tagsOf, vitalsText } from '#test/simulation/checks/history';
import { ACCOUNT, INSTANCE, lived, reanswer } from '#test/simulation/checks/honest-scene';
import { chunksOf } from '#test/storage/contracts/rows';

/* Most tests corrupt one part of a valid history. The checks must report the violation. */

const checks = suite('the simulation checks');

checks('accept a valid history', () => {
  assert.is(lived().store().violation(), 'nothing');
  const gone = lived();
  gone.remove();
  gone.list();
  assert.is(gone.store().violation(), 'nothing');
});

checks('find two calls that wrote the same version', () => {
  const scene = lived();
  const [a, b] = [scene.process(), scene.process()];
  b.endedMs = a.endedMs;
  Object.assign(b, { invokedMs: a.invokedMs });
  reanswer(b, { etag: a.outcome.kind === 'answered' ? a.outcome.seen.etag : '' });
  assert.match(scene.store().violation(), /both wrote version/);
});

checks('find a non-monotonic read', () => {
  const scene = lived();
  reanswer(scene.read(), { etag: etagOf(INSTANCE, 2), vitals: undefined });
  assert.match(scene.store().violation(), /read version 2 after/);
});

checks('find writes whose versions contradict the order of their calls', () => {
  const scene = lived();
  const first = scene.process();
  const second = scene.process();
  const { outcome } = first;
  first.outcome = second.outcome;
  second.outcome = outcome;
  assert.match(scene.store().violation(), /after call/);
});

checks('find a version with two contents', () => {
  const scene = lived();
  reanswer(scene.read(), { vitals: vitalsText(1, 0.5, 'LOW') });
  assert.match(scene.store().violation(), /version \d+ has two contents/);
});

checks('find a write that violates its If-Match condition', () => {
  const scene = lived();
  Object.assign(scene.rename(), { ifMatch: etagOf(INSTANCE, 3) });
  assert.match(scene.store().violation(), /required version 3/);
});

checks('find a lost acknowledged observation', () => {
  const scene = lived();
  scene.rows.pop();
  assert.match(scene.store().violation(), /is lost|does not give/);
});

checks('find a history row that is counted but not stored', () => {
  const scene = lived().store();
  const stored = scene.tables.head(INSTANCE);
  if (stored !== undefined) {
    const historyCount = stored.historyCount + 1;
    const newestHistory = { after: historyCount, rows: '' };
    scene.tables.putHead(INSTANCE, { ...stored, historyCount, newestHistory });
  }
  assert.match(scene.violation(), /rows are stored/);
});

checks('find a duplicate observation', () => {
  const scene = lived();
  const [first] = scene.rows;
  if (first !== undefined) scene.rows.push({ ...first, ordinal: scene.rows.length + 1 });
  assert.match(scene.store().violation(), /stored twice/);
});

checks('find a stored observation whose call was refused', () => {
  const scene = lived();
  const call = scene.process();
  call.outcome = { kind: 'refused', code: 'service_unavailable', reason: undefined };
  assert.match(scene.store().violation(), /refused, but it is stored|acknowledged writes and/);
});

checks('find a stored observation whose call was throttled', () => {
  const scene = lived();
  const call = scene.process();
  scene.begin({ kind: 'rename', hasName: true, tags: 'absent' }, 0);
  reanswer(call, { isThrottled: true });
  assert.match(scene.store().violation(), /refused, but it is stored/);
});

checks('find a stored state that differs from the replayed history', () => {
  const scene = lived().store();
  const stored = scene.tables.head(INSTANCE);
  const model = stored?.model.slice() ?? new Float64Array(0);
  model[0] = (model[0] ?? 0) + 2 ** -40;
  if (stored !== undefined) scene.tables.putHead(INSTANCE, { ...stored, model });
  assert.match(scene.violation(), /replaying the history does not give/);
});

checks('find an answer whose state differs from the replayed history', () => {
  const scene = lived();
  reanswer(scene.process(), { vitals: vitalsText(9, 0.1, 'LOW') });
  assert.match(scene.store().violation(), /replaying the history does not give/);
});

checks('find a stored version without a write, and an answered write that is not stored', () => {
  const more = lived().store();
  const stored = more.tables.head(INSTANCE);
  if (stored !== undefined) more.tables.putHead(INSTANCE, { ...stored, version: 99 });
  assert.match(more.violation(), /version 99 is stored after/);
  const less = lived();
  less.store();
  less.read();
  less.process();
  assert.match(less.violation(), /after \d+ acknowledged/);
});

checks('find a stored name whose call was refused', () => {
  const scene = lived();
  const call = scene.rename();
  call.outcome = { kind: 'refused', code: 'conflict', reason: 'version_mismatch' };
  scene.begin({ kind: 'reset', mode: 'initial' }, 0);
  assert.match(scene.store().violation(), /no successful call set the name/);
});

checks('find a history with missing or duplicate entries, or a wrong count', () => {
  const lacking = lived();
  reanswer(lacking.readHistory(), { marks: [markOf(2, 0)], total: 1 });
  assert.match(lacking.store().violation(), /lacks an observation/);
  const twice = lived();
  reanswer(twice.readHistory(), { marks: [markOf(2, 0), markOf(2, 0)], total: 2 });
  assert.match(twice.store().violation(), /an observation twice/);
  const wrong = lived();
  reanswer(wrong.readHistory(), { total: 99 });
  assert.match(wrong.store().violation(), /total is 99/);
});

checks('accept a trim, unless the history still shows trimmed rows or lacks other rows', () => {
  const honest = lived();
  honest.trim(2);
  honest.readHistory();
  assert.is(honest.store().violation(), 'nothing');
  const shown = lived();
  const { outcome } = shown.readHistory();
  shown.trim(2);
  Object.assign(shown.readHistory(), { outcome });
  assert.match(shown.store().violation(), /contains \d+\.0, which call \d+ had trimmed/);
  const unknown = lived();
  unknown.trim(2).outcome = { kind: 'unknown' };
  Object.assign(unknown.readHistory(), { outcome });
  assert.is(unknown.store().violation(), 'nothing');
  const more = lived();
  more.trim(2);
  more.rows.splice(2, 1);
  assert.match(more.store().violation(), /rows are stored|is lost|does not give/);
});

checks('find any trace of an instance after its delete', () => {
  const answered = lived();
  answered.remove();
  answered.read();
  assert.match(answered.store().violation(), /succeeded after the acknowledged delete/);
  const rows = lived();
  rows.remove();
  const history = chunksOf(OBSERVATIONS, rows.rows);
  rows.store().tables.putRows(INSTANCE, 1, { history, drift: [], answers: [] });
  assert.match(rows.violation(), /rows remain/);
  const back = lived();
  const head = back.store().tables.head(INSTANCE);
  const { id } = back.remove();
  if (head !== undefined) back.tables.putHead(INSTANCE, { ...head, version: head.version + 1 });
  assert.match(back.violation(), new RegExp(`call ${id} deleted the instance`));
});

checks('find a deleted instance whose delete was refused', () => {
  const scene = lived();
  const remove = scene.remove();
  remove.outcome = { kind: 'refused', code: 'conflict', reason: undefined };
  scene.begin({ kind: 'rename', hasName: true, tags: 'absent' }, 0);
  assert.match(scene.store().violation(), /no call deleted it/);
});

checks('find an existing instance reported as not found', () => {
  const scene = lived();
  const call = scene.refuse({ kind: 'read' });
  call.outcome = { kind: 'refused', code: 'not_found', reason: undefined };
  assert.match(scene.store().violation(), /got not_found/);
});

checks('find listings with missing or deleted instances, or wrong counts', () => {
  const lacking = lived();
  reanswer(lacking.list(), { listed: new Map(), total: 0 });
  assert.match(lacking.store().violation(), /lacks inst_/);
  const shown = lived();
  shown.remove();
  reanswer(shown.list(), {
    listed: new Map([[INSTANCE, { name: nameOf(7), tagsJson: '' }]]),
    total: 1,
  });
  assert.match(shown.store().violation(), /had deleted/);
  const wrong = lived();
  reanswer(wrong.list(), { total: 2 });
  assert.match(wrong.store().violation(), /total is 2/);
});

checks('find stored listings that differ from the instances', () => {
  const unlisted = lived().store();
  unlisted.tables.putLine(ACCOUNT, INSTANCE, 99, undefined);
  assert.match(unlisted.violation(), /not listed/);
  const misnamed = lived().store();
  const [row] = misnamed.tables.lines(ACCOUNT);
  if (row !== undefined) {
    misnamed.tables.putLine(ACCOUNT, INSTANCE, 99, { ...row, name: 'n999' });
  }
  assert.match(misnamed.violation(), /listed as "n999"/);
});

checks('accept changes of the name alone and of the tags alone', () => {
  const scene = lived();
  scene.rename({ hasName: true, tags: 'absent' });
  scene.rename({ hasName: false, tags: 'cleared' });
  scene.read();
  scene.rename({ hasName: false, tags: 'set' });
  scene.list();
  assert.is(scene.store().violation(), 'nothing');
});

checks('find lost, foreign and outdated tags in the store', () => {
  const scene = lived();
  scene.rename({ hasName: true, tags: 'absent' });
  const head = scene.store().tables.head(INSTANCE);
  if (head === undefined) throw new Error('the scene has a stored instance');
  const { tagsJson: _, ...untagged } = head;
  scene.tables.putHead(INSTANCE, untagged);
  assert.match(scene.violation(), /no successful call set the tags {}/);
  scene.tables.putHead(INSTANCE, { ...head, tagsJson: tagsOf(999) });
  assert.match(scene.violation(), /no successful call set the tags .*n999/);
  scene.tables.putHead(INSTANCE, { ...head, tagsJson: tagsOf(1) });
  assert.match(
    scene.violation(),
    /in the store: the tags .*n1.* is older than the tags that call 7/,
  );
});

checks('find wrong names and tags in answers and listings', () => {
  const lost = lived();
  const name = nameOf(lost.rename({ hasName: true, tags: 'absent' }).id);
  reanswer(lost.read(), { texts: { name, tagsJson: '{}' } });
  assert.match(lost.store().violation(), /in the answer to call \d+: no successful call set/);
  const old = lived();
  old.rename({ hasName: false, tags: 'cleared' });
  reanswer(old.read(), { texts: { name: nameOf(7), tagsJson: tagsOf(7) } });
  assert.match(old.store().violation(), /older than the tags that call/);
  const listed = lived();
  const texts = { name: nameOf(1), tagsJson: tagsOf(1) };
  reanswer(listed.list(), { listed: new Map([[INSTANCE, texts]]) });
  assert.match(listed.store().violation(), /in the listing .* older than the name that call 7/);
});

checks('find a stored instance that no call can have created', () => {
  const scene = lived().store();
  const head = scene.tables.head(INSTANCE);
  if (head !== undefined) scene.tables.putHead('inst_00000000000000bb', { ...head, name: 'n77' });
  assert.match(scene.violation(), /created "n77"/);
});

checks.run();
