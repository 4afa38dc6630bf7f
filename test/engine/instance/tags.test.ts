import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { instanceAnswer } from '#engine/instance/answers';
import { etagOf } from '#engine/instance/keyed-answers';
import { MODELS } from '#identity/model';
import { decodeHead } from '#storage/ports/head-codec';
import {
  ACCOUNT_ID,
  bodyOf,
  CREATE,
  createdInstance,
  INSTANCE_ID,
  instancesUnderTest,
  observed,
} from '#test/engine/instance/instance-fixture';
import { fixturesOf } from '#test/release/fixture-folders';

const TAGS = { team: 'docs', tier: '2' };
const tagsJson = JSON.stringify(TAGS);
const SET_TAGS = { kind: 'rename', name: undefined, description: undefined, tagsJson } as const;
const READ = { kind: 'readInstance' } as const;

const kept = suite('the tags of an instance');

kept('stay across observations, renames, resets and evictions', async () => {
  const scene = await createdInstance({}, { tagsJson });
  await scene.ask(observed());
  await scene.ask({ kind: 'rename', name: 'Grace', description: undefined });
  await scene.evict();
  await scene.ask({ kind: 'reset', mode: 'default' });
  await scene.evict();
  const answer = await scene.ask(READ);
  const { name, description, tags } = bodyOf(answer).data;
  assert.equal([name, description, tags], ['Grace', CREATE.description, TAGS]);
  assert.is(answer.etag, etagOf(INSTANCE_ID, 4));
});

kept('leave the store when they are removed, or their instance is deleted', async () => {
  const scene = await createdInstance({}, { tagsJson });
  const stored = async () => {
    await scene.flush();
    return (await scene.store.readHead(INSTANCE_ID)) ?? {};
  };
  assert.is(Reflect.get(await stored(), 'tagsJson'), tagsJson);
  await scene.ask({ ...SET_TAGS, tagsJson: '{}' });
  assert.not.ok('tagsJson' in (await stored()));
  await scene.ask(SET_TAGS);
  await scene.ask({ kind: 'remove' });
  const marker = await stored();
  assert.ok('deletedAtMs' in marker && !('tagsJson' in marker));
});

kept('are an empty object in heads that release 1.0 has stored', () => {
  const heads = fixturesOf('1.0.0').get('heads') ?? [];
  const live = heads
    .map(({ key, bytes }) => decodeHead(String(key['instance']), Buffer.from(bytes, 'base64')))
    .filter(({ deletedAtMs }) => deletedAtMs === undefined);
  assert.ok(live.length > 0);
  for (const head of live) {
    assert.equal(bodyOf(instanceAnswer(INSTANCE_ID, head, MODELS)).data.tags, {});
  }
});

const mixed = suite('tags while an engine of an older release could take them over');

mixed('are refused, and calls without tags are not', async () => {
  const scene = instancesUnderTest({ mayTag: () => false });
  const create = await scene.refusal({ ...CREATE, tagsJson, instancesMax: 1 });
  assert.equal([create.code, create.reason], ['service_unavailable', 'upgrade_in_progress']);
  assert.not.ok(create.isOutcomeUnknown);
  assert.not(scene.isInMemory());
  const other = 'inst_00000000000000bb';
  // The refused create must not take the only place of the account.
  await scene.ask({ ...CREATE, instancesMax: 1 }, { instanceId: other });
  const fields = { instanceId: other, accountId: ACCOUNT_ID };
  assert.is((await scene.refusal(SET_TAGS, fields)).reason, 'upgrade_in_progress');
  await scene.ask({ kind: 'rename', name: 'Grace', description: undefined }, fields);
  const { name, tags } = bodyOf(await scene.ask(READ, fields)).data;
  assert.equal([name, tags], ['Grace', {}]);
});

for (const each of [kept, mixed]) each.run();
