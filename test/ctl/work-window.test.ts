import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WorkWindow } from '#ctl/bounded-work';

const ROOM = 3;

const working = suite('a work window');

working(
  'runs at most the allowed number of tasks at a time, and ends when all are done',
  async () => {
    const window = new WorkWindow(ROOM);
    let running = 0;
    let most = 0;
    let done = 0;
    for (let index = 0; index < 20; index += 1) {
      await window.add(async () => {
        running += 1;
        most = Math.max(most, running);
        for (let turn = 0; turn < index % 4; turn += 1) await Promise.resolve();
        running -= 1;
        done += 1;
      });
    }
    await window.end();
    assert.equal([most <= ROOM, most > 1, done], [true, true, 20]);
  },
);

working('rejects with the first failure, and starts no more tasks', async () => {
  const window = new WorkWindow(1);
  let begun = 0;
  const add = (failure?: Error) =>
    window.add(async () => {
      begun += 1;
      if (failure !== undefined) throw failure;
    });
  await add(new Error('the first'));
  const refused = await add(new Error('the second')).catch(({ message }: Error) => message);
  assert.equal([refused, begun], ['the first', 1]);
  const end = await window.end().catch(({ message }: Error) => message);
  assert.is(end, 'the first');
});

working.run();
