import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ACTIONS,
  capStyle,
  isAlwaysOpen,
  isGated,
  newSnapshot,
  propensities,
  readSnapshot,
  weighActions,
} from '#identity/contract';
import { MODEL_1_0, MODEL_1_1 } from '#identity/model';
import { MODE_COUNT } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { newReport, type Report } from '#identity/report';
import { at, OFFSET, type State } from '#identity/state';
import { heldAfter } from '#test/identity/hysteresis-oracle';
import { gapSeconds, observation, positionsIn, type Step } from '#test/support/arbitrary-identity';

const anySteps = fc.array(fc.record({ observation, dtSeconds: gapSeconds }), { maxLength: 60 });

/** Strong readings of one mode in quick succession, which breach most identities. */
const obsession = fc.integer({ min: 0, max: MODE_COUNT - 1 }).map((mode) => {
  const seen = { observation: { mode, signal: 1, confidence: 1 }, dtSeconds: 1 };
  return new Array<Step>(12).fill(seen);
});

/** Lives of personas and of a neutral identity. */
const life = fc.record({
  modeStrengths: fc.constantFrom(
    ...PERSONA_PROFILES.map(({ strengths }): readonly number[] => strengths),
    new Array<number>(MODE_COUNT).fill(0),
  ),
  energyLevel: fc.constantFrom(0.1, 0.4, 0.8),
  steps: fc
    .tuple(anySteps, fc.oneof(fc.constant([]), obsession), anySteps)
    .map((parts): Step[] => parts.flat()),
});

type Life = typeof life extends fc.Arbitrary<infer Value> ? Value : never;

/** States of a life under both models; the first pair is the fresh identity. */
function* livedTwice({ steps, ...config }: Life): Generator<readonly [State, State]> {
  let first = MODEL_1_0.create(config);
  let next = MODEL_1_1.create(config);
  yield [first, next];
  for (const step of steps) {
    first = cycled(MODEL_1_0, first, step);
    next = cycled(MODEL_1_1, next, step);
    yield [first, next];
  }
}

function cycled(model: typeof MODEL_1_0, from: State, { observation, dtSeconds }: Step): State {
  const into = new Float64Array(model.stateLength);
  model.advance(from, observation, dtSeconds, into);
  return into;
}

function reportOf(model: typeof MODEL_1_0, state: State): Report {
  const report = newReport();
  model.readReport(state, report);
  return report;
}

/** Lists and decision style of a contract. */
function shownBy(model: typeof MODEL_1_0, state: State) {
  const { allowed, forbidden, style } = reportOf(model, state).contract;
  return { allowed: positionsIn(allowed), forbidden: positionsIn(forbidden), style: { ...style } };
}

/** Verdict by action: 1 is allowed, 0 is left to the caller, -1 is forbidden. */
function verdictsOf({ contract }: Report): number[] {
  const allowed = positionsIn(contract.allowed);
  const forbidden = positionsIn(contract.forbidden);
  return ACTIONS.map((_, action) =>
    allowed.includes(action) ? 1 : forbidden.includes(action) ? -1 : 0,
  );
}

const everyLife = (holds: (states: (readonly [State, State])[]) => void, numRuns = 150): void =>
  fc.assert(
    fc.property(life, (lived) => holds([...livedTwice(lived)])),
    { numRuns },
  );

const same = suite('model 1.1');

same('computes every value of model 1.0 bit for bit', () => {
  everyLife((states) => {
    for (const [first, next] of states) {
      assert.equal(next.slice(0, first.length), first);
      const { contract, ...report } = reportOf(MODEL_1_1, next);
      const { contract: expected, ...other } = reportOf(MODEL_1_0, first);
      assert.equal(report, other);
      const { allowed: _a, forbidden: _f, style: _s, ...rest } = contract;
      const { allowed: _1, forbidden: _2, style: _3, ...wanted } = expected;
      assert.equal(rest, wanted);
    }
  });
});

same('starts with the contract of model 1.0, when created, taken over and reset', () => {
  everyLife((states) => {
    const [first, next] = states.at(-1) ?? [];
    assert.ok(first && next);
    const takeOver = MODEL_1_1.takesOver.get('1.0');
    assert.ok(takeOver);
    for (const [own, base] of [
      [takeOver(first), first],
      [MODEL_1_1.resetToInitial(next), MODEL_1_0.resetToInitial(first)],
      [MODEL_1_1.resetToDefault(next), MODEL_1_0.resetToDefault(first)],
    ] as const) {
      assert.is(own.length, MODEL_1_1.stateLength);
      assert.equal(own.slice(0, base.length), base);
      assert.equal(shownBy(MODEL_1_1, own), shownBy(MODEL_1_0, base));
    }
    assert.is(MODEL_1_1.sinceCycle(takeOver(first)), at(first, OFFSET.cycle));
    assert.is(MODEL_1_1.sinceCycle(MODEL_1_1.resetToDefault(next)), 0);
  }, 60);
});

same('has the action lists and the style of the second implementation of model 4.1', () => {
  everyLife((states) => {
    let held: ReturnType<typeof heldAfter> | undefined;
    for (const [first, next] of states) {
      held = heldAfter(first, held);
      const { contract, snapshot } = reportOf(MODEL_1_1, next);
      assert.equal(
        [positionsIn(contract.allowed), positionsIn(contract.forbidden)],
        [held.allowed, held.forbidden],
      );
      const [tempo = 0, risk = 0, expressiveness = 0, commitment = 0] = held.style.map(
        ({ label }) => label,
      );
      const style = { tempo, risk, expressiveness, commitment };
      capStyle(snapshot.stressLevel, style);
      assert.equal(contract.style, style);
    }
  });
});

const calm = suite('the lists of actions of model 1.1');

calm('forbid at once what stress or energy forbids, and allow at once what they require', () => {
  everyLife((states) => {
    for (const [first, next] of states) {
      const level = at(first, OFFSET.stressLevel);
      const band = at(first, OFFSET.energyBand);
      for (const [action, verdict] of verdictsOf(reportOf(MODEL_1_1, next)).entries()) {
        if (isAlwaysOpen(action, level, band)) assert.is(verdict, 1, ACTIONS[action]);
        else if (isGated(action, level, band)) assert.is(verdict, -1, ACTIONS[action]);
      }
    }
  });
});

calm('allow no action that model 1.0 forbids', () => {
  let held = 0;
  everyLife((states) => {
    for (const [first, next] of states) {
      const wanted = verdictsOf(reportOf(MODEL_1_0, first));
      for (const [action, verdict] of verdictsOf(reportOf(MODEL_1_1, next)).entries()) {
        assert.not.ok(verdict === 1 && wanted[action] === -1, ACTIONS[action]);
        if (verdict !== wanted[action]) held += 1;
      }
    }
  });
  assert.ok(held > 1_000);
});

calm('never show an action before an action whose propensity is more than 0.1 higher', () => {
  let equal = 0;
  everyLife((states) => {
    for (const [first, next] of states) {
      const snapshot = newSnapshot();
      readSnapshot(first, snapshot);
      const { contract } = reportOf(MODEL_1_1, next);
      weighActions(first, snapshot);
      const keys = positionsIn(contract.allowed).map((action) => at(propensities, action));
      for (const [index, key] of keys.entries()) {
        for (const later of keys.slice(index + 1)) {
          assert.ok(later - key <= 0.1, `${later} after ${key}`);
          if (later > key) equal += 1;
        }
      }
    }
  });
  assert.ok(equal > 100, `${equal} pairs`);
});

calm('start again after a breach, with the contract of model 1.0', () => {
  let breaches = 0;
  everyLife((states) => {
    for (const [first, next] of states) {
      if (at(first, OFFSET.driftLevel) !== 3) continue;
      breaches += 1;
      assert.equal(shownBy(MODEL_1_1, next), shownBy(MODEL_1_0, first));
    }
  });
  assert.ok(breaches > 0);
});

calm('follow a verdict of model 1.0 that lasts three observations', () => {
  let followed = 0;
  everyLife((states) => {
    const verdicts = states.map(([first]) => verdictsOf(reportOf(MODEL_1_0, first)));
    for (let cycle = 3; cycle < states.length; cycle += 1) {
      const [one, two, three] = verdicts.slice(cycle - 2, cycle + 1);
      const shown = verdictsOf(reportOf(MODEL_1_1, states[cycle]?.[1] as State));
      for (const [action, verdict] of (three ?? []).entries()) {
        if (one?.[action] !== verdict || two?.[action] !== verdict) continue;
        followed += 1;
        assert.is(shown[action], verdict, ACTIONS[action]);
      }
    }
  });
  assert.ok(followed > 1_000);
});

calm('never return to an earlier verdict while one observation repeats at unchanged levels', () => {
  const levelsIn = (state: State) =>
    [OFFSET.stressLevel, OFFSET.energyBand, OFFSET.driftLevel].map((offset) => at(state, offset));
  let calmRuns = 0;
  for (const { strengths } of PERSONA_PROFILES) {
    for (const signal of [0, 0.3, 0.6, 1]) {
      let state = MODEL_1_1.create({ modeStrengths: strengths, energyLevel: 0.8 });
      const step = { observation: { mode: 2, signal, confidence: 0.5 }, dtSeconds: 45 };
      for (let cycle = 0; cycle < 400; cycle += 1) state = cycled(MODEL_1_1, state, step);
      const lived = Array.from({ length: 100 }, () => {
        state = cycled(MODEL_1_1, state, step);
        return state;
      });
      if (new Set(lived.map((one) => levelsIn(one).join())).size > 1) continue;
      calmRuns += 1;
      for (const [action, name] of ACTIONS.entries()) {
        const verdicts = lived.map((one) => verdictsOf(reportOf(MODEL_1_1, one))[action]);
        const changes = verdicts.filter((verdict, index) => verdict !== verdicts[index - 1]);
        assert.is(changes.length, new Set(verdicts).size, `${name}: ${changes}`);
      }
    }
  }
  assert.ok(calmRuns > 30, `${calmRuns} runs`);
});

calm('stay the same when read again', () => {
  everyLife((states) => {
    const state = states.at(-1)?.[1] as State;
    const before = state.slice();
    assert.equal(reportOf(MODEL_1_1, state), reportOf(MODEL_1_1, state));
    assert.equal(state, before);
  }, 30);
});

for (const group of [same, calm]) group.run();
