import * as flaws from '#test/simulation/faults/journal-flaws';
import { CRASHES, type Variant } from '#test/simulation/faults/variant';
import type { ScenarioRequest } from '#test/simulation/scenario';

/** Journals are sealed during writes, on diverging replicas. */
const ALARMS: ScenarioRequest = {
  limiters: 0,
  checkpointAgeMs: 20_000,
  isDeletionTimed: false,
  only: ['falseAlarm'],
  count: 40,
  loadMs: 20_000,
  store: { slow: 0.2, answerLost: 0, executedLate: 0, refused: 0, swallowed: 0 },
  replicas: { late: 0.2, hinted: 0.05, lost: 0.05, doubled: 0.1, mute: 0 },
};

/** Like `ALARMS`, but replicas receive seals much later, and the store is not slow. */
const HINTS: ScenarioRequest = {
  ...ALARMS,
  store: { ...ALARMS.store, slow: 0 },
  replicas: { late: 0.05, hinted: 0.25, lost: 0, doubled: 0, mute: 0 },
};

/** Flaws in writing, sealing and reading journals. */
export const JOURNAL_VARIANTS: readonly Variant[] = [
  { name: 'takeover without a seal', flaws: { journals: flaws.noSeal }, requested: CRASHES },
  { name: 'append without a seal check', flaws: { journals: flaws.noLook }, requested: ALARMS },
  { name: 'seal check before the write', flaws: { journals: flaws.lookFirst }, requested: ALARMS },
  {
    name: 'seal check during the write',
    flaws: { journals: flaws.lookMeanwhile },
    requested: ALARMS,
  },
  { name: 'seal check at one replica', flaws: { journals: flaws.lookAtOne }, requested: HINTS },
  { name: 'seal answered by one replica', flaws: { journals: flaws.sealAtOne }, requested: HINTS },
  {
    name: 'slots acknowledged out of order',
    flaws: { journals: flaws.outOfOrder },
    requested: ALARMS,
  },
  {
    name: 'slot with other bytes in a retry',
    flaws: { journals: flaws.composedAgain },
    requested: { ...ALARMS, keyed: 0.2, store: { ...ALARMS.store, answerLost: 0.1 } },
  },
  {
    name: 'journal end decided by each sealer alone',
    flaws: { journals: flaws.endNotDecided },
    requested: ALARMS,
  },
  { name: 'slots read before the seal', flaws: { journals: flaws.readFirst }, requested: ALARMS },
  {
    name: 'journal end that ignores gaps',
    flaws: { journals: flaws.gapsIgnored },
    requested: ALARMS,
  },
];
