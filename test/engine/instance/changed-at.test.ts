import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isNoted, TRANSITIONS, type TransitionType } from '#identity/transitions';
import { decodeHead, encodeHead } from '#storage/ports/head-codec';
import {
  createdInstance,
  INSTANCE_ID,
  observed,
  START_MS,
} from '#test/engine/instance/instance-fixture';

const changed = suite('the time of the newest change of an instance');

const STRESS = observed({ mode: 6, signal: 1 });
const RENAME = { kind: 'rename', name: 'Grace', description: undefined } as const;

/** Times of the newest change in memory, and in a head that was stored and read. */
async function timesOf(scene: Awaited<ReturnType<typeof createdInstance>>) {
  await scene.flush();
  const inMemory = scene.host.readUnconfirmed(INSTANCE_ID, ({ head }) => [head?.changedAtMs]);
  const head = await scene.store.readHead(INSTANCE_ID);
  const stored = head && decodeHead(INSTANCE_ID, encodeHead(head)).changedAtMs;
  assert.equal(inMemory, [stored]);
  return stored;
}

// Catches a creation that takes 24 bytes in every head.
changed('is absent for an instance that was only created and calmly observed', async () => {
  const scene = await createdInstance();
  scene.jump(5_000);
  await scene.ask(observed());
  assert.is(await timesOf(scene), undefined);
});

// Catches a time that an eviction loses, and a time that only observations move.
changed(
  'moves with changes of stress, name and generation, and stays across evictions',
  async () => {
    const scene = await createdInstance();
    const seen: (number | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) {
      scene.jump(5_000);
      await scene.ask(STRESS);
    }
    seen.push(await timesOf(scene));
    await scene.evict();
    const renamedAtMs = scene.clock.wallMs();
    await scene.ask(RENAME);
    seen.push(await timesOf(scene));
    const resetAtMs = scene.clock.wallMs();
    await scene.ask({ kind: 'reset', mode: 'initial' });
    seen.push(await timesOf(scene));
    assert.equal(seen.slice(1), [renamedAtMs, resetAtMs]);
    assert.ok((seen[0] ?? 0) > START_MS && (seen[0] ?? 0) <= START_MS + 20_000, String(seen[0]));
  },
);

// Catches tags in the order of the newest transitions, which has no events of tags.
changed('stays when only the tags change', async () => {
  const scene = await createdInstance();
  scene.jump(1_000);
  await scene.ask({ ...RENAME, name: undefined, tagsJson: '{"team":"docs"}' });
  assert.is(await timesOf(scene), undefined);
});

// Catches a list in which an instance moves to the front with every other action.
changed('stays for the frequent types of transitions', () => {
  const noted = (...types: TransitionType[]) =>
    isNoted(types.map((type) => [TRANSITIONS.indexOf(type), 0, 0, 0]));
  assert.not.ok(noted('contract_changed', 'mode_changed'));
  assert.ok(noted('contract_changed', 'stress_changed'));
});

changed.run();
