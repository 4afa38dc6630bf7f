import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type NewestSlots,
  type SealSteps,
  SLOTS_UNDER_WAY_MAX,
  sealJournal,
} from '#storage/ports/journal';

const sealing = suite('the end of a sealed journal');

const TO_120 = [113, 114, 115, 116, 117, 118, 119, 120];

sealing('is after the newest slot if all earlier slots exist', async () => {
  assert.is(await endOf({ slot: 120, lowWaterMark: 4, whole: TO_120 }), 121);
});

sealing('is the slot of a row that read repair created without bytes', async () => {
  const whole = TO_120.filter((slot) => slot >= 114);
  assert.is(await endOf({ slot: 121, lowWaterMark: 4, whole }), 121);
  assert.is(await endOf({ slot: 122, lowWaterMark: 4, whole: whole.slice(1) }), 121);
  assert.is(await endOf({ slot: 0, lowWaterMark: 0, whole: [] }), 0);
});

sealing('is the low-water mark if no slot at or above the mark exists', async () => {
  assert.is(await endOf({ slot: 121, lowWaterMark: 121, whole: [120] }), 121);
});

sealing('is undecided if more slots are missing than a writer has in flight', async () => {
  const gap = 120 - SLOTS_UNDER_WAY_MAX;
  const whole = TO_120.filter((slot) => slot !== gap);
  const outcome = await endOf({ slot: 120, lowWaterMark: 4, whole }).catch(String);
  assert.match(String(outcome), /slot 116 is missing, slot 120 was begun/);
});

sealing.run();

/** Decided end for these newest slots. */
async function endOf(newest: NewestSlots): Promise<number | undefined> {
  let decided: number | undefined;
  const steps: SealSteps = {
    readEntry: async () => ({ address: 'a:1', end: undefined }),
    putSeal: async () => undefined,
    readNewestSlots: async () => newest,
    decideEnd: async (_, end) => {
      decided = end;
      return true;
    },
    readHead: async () => undefined,
  };
  await sealJournal(steps, 'one');
  return decided;
}
