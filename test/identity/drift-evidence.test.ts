import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { breachOf, classifyDrift, IDENTITY_BREACH } from '#identity/drift';
import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import { createState, OFFSET, type State } from '#identity/state';
import {
  advanced,
  certainly,
  freshState,
  lived,
  observation,
  reachableState,
  scalarAt,
  share,
  vectorAt,
} from '#test/support/arbitrary-identity';

/** Maximum drift evidence of a mode. Source: model 2.6. */
const EVIDENCE_MAX = 1.25 * Math.log(200);
/** Drift evidence that signals a sustained shift. Source: model 2.6. */
const EVIDENCE_LIMIT = Math.log(200);

/** Limit of a breach without a sustained shift. Source: model 3.4. */
const BREACH_LIMIT = 12.5916;
/** Limit of a breach with a sustained shift. Source: model 3.4. */
const LASTING_BREACH_LIMIT = 10.6446;

const mode = fc.integer({ min: 0, max: MODE_COUNT - 1 });

/** A new identity, and an extreme observation that moves one mode away from its home. */
const oneSided = fc.tuple(freshState, mode).map(([fresh, place]) => {
  const away = scalarAt(fresh, OFFSET.home + place) < 0.5 ? 1 : 0;
  return { fresh, seen: certainly(place, away) };
});

const run = suite('a run of cycles outside the band');

run('never grows for an observation with zero confidence', () => {
  let outside = 0;
  fc.assert(
    fc.property(oneSided, fc.integer({ min: 1, max: 7 }), observation, (history, count, seen) => {
      const steps = Array.from({ length: count }, () => ({
        observation: history.seen,
        dtSeconds: 0,
      }));
      const before = lived(history.fresh, steps);
      const after = advanced(before, { ...seen, confidence: 0 }, 0);
      const [had, has] = [scalarAt(before, OFFSET.run), scalarAt(after, OFFSET.foundRun)];
      assert.ok(has === had || has === 0, `a run of ${had} changed to ${has}`);
      if (has > 0) outside++;
    }),
    { numRuns: 300 },
  );
  assert.ok(outside > 80, `only ${outside} were outside the band`);
});

run('grows by one or ends for an observation with full confidence', () => {
  fc.assert(
    fc.property(oneSided, (history) => {
      let state = history.fresh;
      for (let cycle = 0; cycle < 7; cycle++) {
        const next = advanced(state, history.seen, 0);
        const had = scalarAt(state, OFFSET.run);
        assert.ok([0, had + 1].includes(scalarAt(next, OFFSET.foundRun)));
        state = next;
      }
    }),
  );
});

run.run();

const evidence = suite('drift evidence');

evidence('never exceeds 1.25 times the signalling threshold', () => {
  let full = 0;
  const anything = fc.oneof(reachableState, freshState);
  fc.assert(
    fc.property(anything, mode, share, share, (state, place, signal, confidence) => {
      const steps = Array.from({ length: 60 }, () => ({
        observation: { mode: place, signal, confidence },
        dtSeconds: 0,
      }));
      for (const step of steps) {
        state = lived(state, [step]);
        const found = [...vectorAt(state, OFFSET.risen), ...vectorAt(state, OFFSET.fallen)];
        assert.ok(found.every((value) => value >= 0 && value <= EVIDENCE_MAX));
        if (found.includes(EVIDENCE_MAX)) full++;
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(full > 80, `only ${full} cycles reached the bound`);
});

for (const [way, offset, sign] of [
  ['up', OFFSET.risen, 1],
  ['down', OFFSET.fallen, -1],
] as const) {
  evidence(`signals a sustained shift ${way} of its mode if it reaches the limit`, () => {
    for (let place = 0; place < MODE_COUNT; place++) {
      for (const [size, sustained] of [
        [EVIDENCE_LIMIT, 2 ** place],
        [EVIDENCE_LIMIT - 1e-9, 0],
      ] as const) {
        const state = createState({ modeStrengths: [], energyLevel: 0.8 });
        state.fill(size / 2, OFFSET.risen, OFFSET.risen + 2 * MODE_COUNT);
        state[offset + place] = size;
        classifyDrift(state, true);
        assert.is(scalarAt(state, OFFSET.foundSustained), sustained);
        assert.is(scalarAt(state, OFFSET.foundStatistic), size);
        assert.is(scalarAt(state, OFFSET.foundDirection), sign * (place + 1));
      }
    }
  });
}

evidence.run();

/**
 * A state whose tendencies depart from the set-point in a random direction, so far that the breach
 * statistic is between 9 and 14.
 */
const departed = fc
  .record({
    fresh: freshState,
    way: fc.array(fc.integer({ min: -100, max: 100 }), {
      minLength: MODE_COUNT,
      maxLength: MODE_COUNT,
    }),
    run: fc.integer({ min: 0, max: 6 }),
    target: fc.integer({ min: 900, max: 1_400 }).map((hundredths) => hundredths / 100),
  })
  .filter(({ way }) => way.slice(0, STRESS_RESPONSE).some((step) => step !== 0))
  .map(({ fresh, way, run: had, target }) => {
    const at = (size: number): State => {
      const state = fresh.slice();
      for (const [place, step] of way.entries()) {
        state[OFFSET.tendency + place] = scalarAt(fresh, OFFSET.setPoint + place) + size * step;
      }
      state[OFFSET.run] = had;
      return state;
    };
    // The statistic is quadratic in the distance, so a single measurement determines the scale.
    return at(Math.sqrt(target / breachIn(at(1))));
  });

function breachIn(state: State): number {
  const judged = state.slice();
  const band = classifyDrift(judged, true);
  return breachOf(band, scalarAt(judged, OFFSET.departure + STRESS_RESPONSE));
}

/** Drift level of `state`, with or without a sustained mode. */
function levelWith(state: State, sustained: number | undefined): number {
  const judged = state.slice();
  if (sustained !== undefined) judged[OFFSET.risen + sustained] = EVIDENCE_LIMIT;
  classifyDrift(judged, true);
  return scalarAt(judged, OFFSET.driftLevel);
}

const breach = suite('a breach');

breach('needs the full limit if only STRESS_RESPONSE has a sustained shift', () => {
  let between = 0;
  fc.assert(
    fc.property(departed, (state) => {
      const statistic = breachIn(state);
      const isBreached = levelWith(state, undefined) === IDENTITY_BREACH;
      assert.is(isBreached, statistic >= BREACH_LIMIT);
      assert.is(levelWith(state, STRESS_RESPONSE) === IDENTITY_BREACH, isBreached);
      if (statistic >= LASTING_BREACH_LIMIT && statistic < BREACH_LIMIT) between++;
    }),
    { numRuns: 300 },
  );
  assert.ok(between > 60, `only ${between} were between the two limits`);
});

breach('needs a lower limit if any other mode has a sustained shift', () => {
  const other = fc.integer({ min: 0, max: STRESS_RESPONSE - 1 });
  fc.assert(
    fc.property(departed, other, (state, shifted) => {
      const isBreached = levelWith(state, shifted) === IDENTITY_BREACH;
      assert.is(isBreached, breachIn(state) >= LASTING_BREACH_LIMIT);
    }),
    { numRuns: 300 },
  );
});

breach.run();
