import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { JournalPresence } from '#cluster/journal-presence';
import type { JournalHead } from '#storage/ports/journal';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const HEAD: JournalHead = { address: 'a:8100', next: 0, lowWaterMark: 0, isSealed: false };

/** A presence check of the journals in `heads`. `asked` lists the journals that were read. */
function newScene() {
  const clock = new ManualClock();
  const heads = new Map<string, JournalHead>();
  const asked: string[] = [];
  let found = 0;
  let answer: () => Promise<void> = async () => undefined;
  const check = new JournalPresence({
    clock,
    onFound: () => {
      found += 1;
    },
    journals: {
      readHead: async (incarnation) => {
        asked.push(incarnation);
        await answer();
        return heads.get(incarnation);
      },
    },
  });
  const look = async (incarnation: string, address = 'a:8100') => {
    check.look({ incarnation, address });
    await turnOfEvents();
    return check.hasFound(incarnation);
  };
  const answerWith = (next: () => Promise<void>) => {
    answer = next;
  };
  return { clock, heads, asked, check, look, answerWith, found: () => found };
}

const looked = suite('an incarnation whose journal is checked');

looked('is a member when its journal is found, and is not checked again', async () => {
  const { heads, asked, look, found } = newScene();
  heads.set('one', HEAD);
  assert.is(await look('one'), true);
  assert.is(await look('one'), true);
  assert.equal([asked, found()], [['one'], 1]);
});

looked(
  'is not a member without a journal, or if the journal is sealed or has another address',
  async () => {
    const { heads, look, found } = newScene();
    heads.set('sealed', { ...HEAD, isSealed: true });
    heads.set('elsewhere', HEAD);
    assert.is(await look('none'), false);
    assert.is(await look('sealed'), false);
    assert.is(await look('elsewhere', 'b:8100'), false);
    assert.is(found(), 0);
  },
);

looked(
  'is checked again after 10 s without a journal, and a second after a failed read',
  async () => {
    const { clock, asked, look, answerWith } = newScene();
    for (let second = 0; second < 30; second += 1) {
      await look('none');
      clock.advance(1_000);
    }
    assert.is(asked.length, 3);
    answerWith(async () => {
      throw new Error('no answer');
    });
    for (let second = 0; second < 10; second += 1) {
      await look('other');
      clock.advance(1_000);
    }
    assert.is(asked.length, 13);
  },
);

looked('shares at most sixteen concurrent checks with all other incarnations', async () => {
  const { asked, look, answerWith } = newScene();
  const { promise, resolve } = Promise.withResolvers<void>();
  answerWith(() => promise);
  for (let name = 0; name < 4_000; name += 1) await look(`${name}`);
  assert.is(asked.length, 16);
  resolve();
  await turnOfEvents();
  await look('3999');
  assert.is(asked.length, 17);
});

looked('does not become a member if it is forgotten before the answer arrives', async () => {
  const { heads, check, look, answerWith, found } = newScene();
  const { promise, resolve } = Promise.withResolvers<void>();
  answerWith(() => promise);
  heads.set('one', HEAD);
  await look('one');
  check.forget('one');
  resolve();
  await turnOfEvents();
  assert.equal([check.hasFound('one'), found()], [false, 0]);
});

looked.run();
