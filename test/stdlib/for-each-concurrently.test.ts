import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { refusalOf, turnOfEvents } from '#test/support/settled';

const many = suite('concurrent work on many items');

many('processes each item once, in order, with bounded concurrency', async () => {
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

many('ends immediately if there are no items, and with the first rejection', async () => {
  await forEachConcurrently([], 3, () => Promise.reject(new Error('never')));
  const refusal = await refusalOf(() =>
    forEachConcurrently([1, 2], 1, (item) =>
      item === 1 ? Promise.reject(new Error('one')) : Promise.resolve(),
    ),
  );
  assert.is(refusal.message, 'one');
});

many.run();
