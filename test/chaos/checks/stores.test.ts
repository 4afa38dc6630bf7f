import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WRONGS } from '#test/chaos/checks/planted-wrongs';
import { findingsOf, livedWorld, UNKNOWN } from '#test/chaos/lived-world';

const checker = suite('the check of the stores');

checker('has no findings if all answers match', async () => {
  assert.equal(await findingsOf(livedWorld()), []);
});

for (const { what, found, before, after } of WRONGS) {
  checker(`finds ${what}`, async () => {
    const life = livedWorld();
    before?.(life);
    const lines = await findingsOf(life, (stores) => after?.(life, stores) ?? stores);
    assert.ok(
      lines.some((line) => found.test(line)),
      `${found} in:\n${lines.join('\n')}`,
    );
  });
}

checker('accepts an instance whose create has an unknown outcome', async () => {
  const life = livedWorld();
  life.create(UNKNOWN);
  assert.equal(await findingsOf(life), []);
});

checker.run();
