import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { refusalOf, turnOfEvents } from '#test/support/settled';

const many = suite('something done with many items');

many('is done with each once, in their order, a number at once', async () => {
  const begun: number[] = [];
  let underWay = 0;
  let most = 0;
  await forEachConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    begun.push(item);
    underWay += 1;
    most = Math.max(most, underWay);
    await turnOfEvents();
    underWay -= 1;
  });
  assert.equal([begun, most], [[1, 2, 3, 4, 5, 6, 7], 3]);
});

many('ends at once when there are none, and with the first refusal', async () => {
  await forEachConcurrently([], 3, () => Promise.reject(new Error('never')));
  const refusal = await refusalOf(() =>
    forEachConcurrently([1, 2], 1, (item) =>
      item === 1 ? Promise.reject(new Error('one')) : Promise.resolve(),
    ),
  );
  assert.is(refusal.message, 'one');
});

many.run();
