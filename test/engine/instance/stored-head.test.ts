import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readSummaries } from '#engine/directory/summary';
import { storedHeadOf } from '#engine/instance/kind';
import { MODELS } from '#identity/model';
import { CorruptState } from '#storage/ports/bytes';
import { headAt } from '#test/storage/contracts/rows';

const damaged = suite('when a page includes an instance with a damaged head');

damaged('the other instances are shown, and the damage is reported', async () => {
  const bugs: unknown[] = [];
  const readHead = async (id: string) => {
    if (id === 'b') throw new CorruptState('the head of b does not match its checksum');
    return headAt(1);
  };
  const headOf = storedHeadOf({ readHead }, MODELS, (error) => bugs.push(error));
  const summaries = await readSummaries(['a', 'b', 'c'], headOf, MODELS);
  assert.equal([...summaries.keys()], ['a', 'c']);
  assert.is(bugs.length, 1);
  assert.match(String(bugs[0]), /the head of b does not match/);
});

damaged('a store failure is not reported as damage', async () => {
  const failure = new Error('no answer');
  const headOf = storedHeadOf({ readHead: () => Promise.reject(failure) }, MODELS, () =>
    assert.unreachable(),
  );
  assert.is(await headOf('a').catch((error: unknown) => error), failure);
});

damaged.run();
