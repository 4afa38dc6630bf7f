import { MODEL_1_0, type Model, modelsOf } from '#identity/model';
import { STATE_LENGTH, type State } from '#identity/state';

/** First value of a later model's state. All other values are shifted by one. */
const MARK = 47;

const ofFirst = (state: State): State => state.subarray(1);

function marked(first: State): State {
  const state = new Float64Array(STATE_LENGTH + 1);
  state[0] = MARK;
  state.set(first, 1);
  return state;
}

/** A model that no release has. Its layout differs, and it inverts the signal. */
export const LATER_MODEL: Model = {
  version: '2.0',
  stateLength: STATE_LENGTH + 1,
  sinceCycle: () => 0,
  create: (config) => marked(MODEL_1_0.create(config)),
  advance(from, observation, dtSeconds, into) {
    const opposite = { ...observation, signal: 1 - observation.signal };
    MODEL_1_0.advance(ofFirst(from), opposite, dtSeconds, ofFirst(into));
    into[0] = MARK;
  },
  readReport: (state, into) => MODEL_1_0.readReport(ofFirst(state), into),
  readReferencePoints: (state) => MODEL_1_0.readReferencePoints(ofFirst(state)),
  resetToInitial: (state) => marked(MODEL_1_0.resetToInitial(ofFirst(state))),
  resetToDefault: (state) => marked(MODEL_1_0.resetToDefault(ofFirst(state))),
  takesOver: new Map([[MODEL_1_0.version, marked]]),
};

/** Models of a program that starts instances with the first model. */
export const BOTH_MODELS = modelsOf([MODEL_1_0, LATER_MODEL], MODEL_1_0);

/** Models of the following release, which starts instances with the later model. */
export const LATER_FIRST = modelsOf([MODEL_1_0, LATER_MODEL], LATER_MODEL);
