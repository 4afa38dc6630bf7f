import { MODE_COUNT, STRESS_RESPONSE } from '#identity/modes';
import { at, clamp, EVIDENCE_MAX, OFFSET, type State } from '#identity/state';

/** Drift levels in ascending order. */
export const DRIFT_LEVELS = ['D0', 'D1', 'D2', 'D3'] as const;

/** Position in `DRIFT_LEVELS`: the state is within the band. Source: model 3.4. */
export const WITHIN_BAND = 0;
const SITUATIONAL_DEPARTURE = 1;
const SUSTAINED_SHIFT = 2;
/** Position in `DRIFT_LEVELS`: the state is rolled back. Source: model 3.4. */
export const IDENTITY_BREACH = 3;

/**
 * Variance of the filtered state relative to the variance of momentary states. Source: model 3.1.
 */
const FILTER_VARIANCE = 0.2;

/** Limit of the band statistic: chi-square, 7 degrees of freedom, 95 %. Source: model 3.1. */
export const BAND_LIMIT = 14.0671;

/** Limit for the departure of a single mode: 5 % over seven modes, two-sided. Source: model 3.1. */
const SINGLE_LIMIT = 2.6901;

/** Informative cycles outside the band after which a departure is lasting (model 3.2). */
const RUN_LIMIT = 8;

/** Breach limits: chi-square, 6 degrees of freedom, 95 %, or 90 % if lasting. Source: model 3.4. */
const BREACH_LIMIT = 12.5916;
const LASTING_BREACH_LIMIT = 10.6446;

/** The present cycle's weight in the stability memory. Source: model 3.5. */
const UNREST_PACE = 0.15;

/** Scratch memory. Only the report uses the shares; the classification ignores them. */
const unusedShares = new Float64Array(MODE_COUNT);
const departures = new Float64Array(MODE_COUNT);

/**
 * Squared distance over the six identity-bearing modes, given the stress response. Source:
 * model 3.3.
 */
export function breachOf(bandStatistic: number, stressDeparture: number): number {
  return FILTER_VARIANCE * Math.max(0, bandStatistic - stressDeparture * stressDeparture);
}

/** Writes the state's departures from the set-point, and returns the band statistic. */
function measureDepartures(state: State): number {
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const variance = FILTER_VARIANCE * uncertaintyOf(at(state, OFFSET.evidence + mode));
    const away = at(state, OFFSET.tendency + mode) - at(state, OFFSET.setPoint + mode);
    const departure = away / (at(SIGMA, mode) * Math.sqrt(variance));
    departures[mode] = departure;
    state[OFFSET.departure + mode] = departure;
  }
  return quadraticShares(CORRELATION_INVERSE, departures, unusedShares);
}

function isOutside(bandStatistic: number): boolean {
  if (bandStatistic >= BAND_LIMIT) return true;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    if (Math.abs(at(departures, mode)) >= SINGLE_LIMIT) return true;
  }
  return false;
}

/** Writes the largest drift evidence, its direction, and the modes at the limit to the state. */
function noteEvidence(state: State): void {
  let largest = 0;
  let direction = 0;
  let sustained = 0;
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    const risen = at(state, OFFSET.risen + mode);
    const fallen = at(state, OFFSET.fallen + mode);
    if (risen > largest) {
      largest = risen;
      direction = mode + 1;
    }
    if (fallen > largest) {
      largest = fallen;
      direction = -(mode + 1);
    }
    if (risen >= DRIFT_LIMIT || fallen >= DRIFT_LIMIT) sustained |= 1 << mode;
  }
  state[OFFSET.foundStatistic] = largest;
  state[OFFSET.foundDirection] = direction;
  state[OFFSET.foundSustained] = sustained;
}

/**
 * Classifies the state after a cycle. Source: model 3.1 to 3.5.
 *
 * Writes findings, run, stability memory and drift level, and returns the band statistic.
 * `isInformative` must be false for a reading with certainty 0, because such a reading must not
 * prolong a run.
 */
export function classifyDrift(state: State, isInformative: boolean): number {
  const bandStatistic = measureDepartures(state);
  noteEvidence(state);
  const isOut = isOutside(bandStatistic);
  const run = isOut ? at(state, OFFSET.run) + (isInformative ? 1 : 0) : 0;
  const sustained = at(state, OFFSET.foundSustained);
  const breach = breachOf(bandStatistic, at(departures, STRESS_RESPONSE));
  const isLong = run >= RUN_LIMIT;
  const isIdentityMoved = (sustained & ~(1 << STRESS_RESPONSE)) !== 0 || isLong;
  let level = isOut ? SITUATIONAL_DEPARTURE : WITHIN_BAND;
  if (sustained !== 0 || isLong) level = SUSTAINED_SHIFT;
  if (breach >= BREACH_LIMIT || (isIdentityMoved && breach >= LASTING_BREACH_LIMIT)) {
    level = IDENTITY_BREACH;
  }
  const unrest = at(state, OFFSET.unrest);
  state[OFFSET.unrest] = unrest + UNREST_PACE * (bandStatistic - unrest);
  state[OFFSET.run] = run;
  state[OFFSET.foundRun] = run;
  state[OFFSET.driftLevel] = level;
  return bandStatistic;
}

/** Stability for a stability memory `unrest`: 1 at rest, 0.5 at the band limit. */
export function stabilityOf(unrest: number): number {
  return 1 / (1 + unrest / BAND_LIMIT);
}

/** Within-person standard deviation per mode, on the scale [0, 1]. Source: model 2.6. */
export const SIGMA = Float64Array.of(0.18, 0.2, 0.18, 0.2, 0.18, 0.16, 0.2);

/** Within-person mode correlations, row by row: a labelled design prior. Source: model 2.6. */
export const CORRELATION = Float64Array.of(
  ...[1.0, 0.15, 0.2, -0.1, 0.15, 0.1, 0.0],
  ...[0.15, 1.0, -0.3, 0.25, 0.1, -0.1, -0.2],
  ...[0.2, -0.3, 1.0, 0.05, 0.05, 0.3, -0.15],
  ...[-0.1, 0.25, 0.05, 1.0, -0.15, 0.2, -0.15],
  ...[0.15, 0.1, 0.05, -0.15, 1.0, 0.05, -0.2],
  ...[0.1, -0.1, 0.3, 0.2, 0.05, 1.0, -0.3],
  ...[0.0, -0.2, -0.15, -0.15, -0.2, -0.3, 1.0],
);

/** Inverse of `CORRELATION`, row by row: the metric for standardised departures (model 3.1). */
export const CORRELATION_INVERSE = inverseOf(CORRELATION);

/** Inverse covariance, row by row: the metric for mode strengths (model 5). */
export const COVARIANCE_INVERSE = CORRELATION_INVERSE.map(
  (value, cell) =>
    value / (at(SIGMA, Math.floor(cell / MODE_COUNT)) * at(SIGMA, cell % MODE_COUNT)),
);

/**
 * Regression of each mode on the observed mode. Source: model 2.3.
 *
 * Row `k` has each mode's movement when mode `k` moves by one. An observation reads exactly one
 * row, so rows are contiguous.
 */
const COUPLING = CORRELATION.map((value, cell) => {
  const observed = Math.floor(cell / MODE_COUNT);
  return (value * at(SIGMA, cell % MODE_COUNT)) / at(SIGMA, observed);
});

/**
 * Lower triangular Cholesky factor of `COVARIANCE_INVERSE`. Source: model 5.
 *
 * Its transpose maps strengths to whitened coordinates, in which the model's distance is Euclidean.
 */
const WHITENING = choleskyOf(COVARIANCE_INVERSE);

/** Writes whitened `strengths` to `into`, starting at `offset`. */
export function whiten(strengths: Float64Array, into: Float64Array, offset: number): void {
  for (let column = 0; column < MODE_COUNT; column++) {
    let sum = 0;
    for (let row = column; row < MODE_COUNT; row++) {
      sum += at(WHITENING, row * MODE_COUNT + column) * at(strengths, row);
    }
    into[offset + column] = sum;
  }
}

/**
 * Writes each mode's share in the quadratic form `vector' metric vector` to `shares`, and returns
 * their sum.
 */
export function quadraticShares(
  metric: Float64Array,
  vector: Float64Array,
  shares: Float64Array,
): number {
  let sum = 0;
  for (let row = 0; row < MODE_COUNT; row++) {
    let product = 0;
    for (let column = 0; column < MODE_COUNT; column++) {
      product += at(metric, row * MODE_COUNT + column) * at(vector, column);
    }
    const share = at(vector, row) * product;
    shares[row] = share;
    sum += share;
  }
  return sum;
}

/** Matrix inverse by Gauss-Jordan elimination. A positive definite matrix needs no pivoting. */
function inverseOf(matrix: Float64Array): Float64Array {
  const left = matrix.slice();
  const right = matrix.map((_, cell) => (cell % (MODE_COUNT + 1) === 0 ? 1 : 0));
  for (let pivot = 0; pivot < MODE_COUNT; pivot++) {
    const divisor = at(left, pivot * MODE_COUNT + pivot);
    for (let column = 0; column < MODE_COUNT; column++) {
      const cell = pivot * MODE_COUNT + column;
      left[cell] = at(left, cell) / divisor;
      right[cell] = at(right, cell) / divisor;
    }
    for (let row = 0; row < MODE_COUNT; row++) {
      if (row === pivot) continue;
      const factor = at(left, row * MODE_COUNT + pivot);
      subtractRow(left, row, pivot, factor);
      subtractRow(right, row, pivot, factor);
    }
  }
  return right;
}

function subtractRow(matrix: Float64Array, row: number, source: number, factor: number): void {
  for (let column = 0; column < MODE_COUNT; column++) {
    const cell = row * MODE_COUNT + column;
    matrix[cell] = at(matrix, cell) - factor * at(matrix, source * MODE_COUNT + column);
  }
}

function choleskyOf(matrix: Float64Array): Float64Array {
  const factor = new Float64Array(matrix.length);
  for (let row = 0; row < MODE_COUNT; row++) {
    for (let column = 0; column <= row; column++) {
      let rest = at(matrix, row * MODE_COUNT + column);
      for (let inner = 0; inner < column; inner++) {
        rest -= at(factor, row * MODE_COUNT + inner) * at(factor, column * MODE_COUNT + inner);
      }
      factor[row * MODE_COUNT + column] =
        row === column ? Math.sqrt(rest) : rest / at(factor, column * (MODE_COUNT + 1));
    }
  }
  return factor;
}

/** Noise in a fully certain reading, relative to the mode's variance. Source: model 2.6. */
const READING_NOISE = 1.5;

/** Extra variance while few readings support the set-point. Source: model 2.6. */
const UNCERTAINTY = 60;

/** Drift evidence at which a chart signals: one false alarm per 200 readings (model 2.6). */
export const DRIFT_LIMIT = Math.log(200);

/** Maximum drift evidence, so that a lasting shift's evidence decays in finite time. */
const DRIFT_EVIDENCE_MAX = 1.25 * DRIFT_LIMIT;

/**
 * Half the shift that the charts are designed to detect, in standard deviations. Source: model 3.2.
 */
const REFERENCE = 0.5;

/** The home's pull on the set-point per cycle, for a fully anchored identity. Source: model 2.6. */
const HOME_PULL = 0.004;

/** Bounds for the latent values. Ordinary streams never reach them. Source: model 1. */
const LATENT_MIN = -0.5;
const LATENT_MAX = 1.5;

/** Energy below which engagement falls. Source: model 2.3. */
const ENGAGED_ENERGY = 0.5;
/** Engagement at energy 0. Source: model 2.3. */
const ENGAGEMENT_MIN = 0.4;

/** Stress above which attention narrows. Source: model 2.3. */
const NARROWING_STRESS = 0.3;
/** Loss of attention at full stress, by mode. Source: model 2.3. */
const ATTENTION_LOSS = Float64Array.of(0.3, 0.6, 0, 0.2, 0.4, 0.1, 0);

/**
 * Share of the gap between state and reading that a reading closes; 0 at confidence 0. Source:
 * model 2.1.
 */
export function gainOf(confidence: number): number {
  return confidence / (confidence + READING_NOISE);
}

/** Variance of a reading around a set-point of `evidence` readings; 1 for `EVIDENCE_MAX`. */
function uncertaintyOf(evidence: number): number {
  return 1 + UNCERTAINTY * (1 / (1 + evidence) - 1 / (1 + EVIDENCE_MAX));
}

/**
 * Share of a cue in `mode` that gets attention at the acute stress `stress`, in (0, 1]. Source:
 * model 2.3.
 */
export function attentionTo(mode: number, stress: number): number {
  const excess = stress - NARROWING_STRESS;
  return excess > 0 ? 1 - at(ATTENTION_LOSS, mode) * (excess / (1 - NARROWING_STRESS)) : 1;
}

/** Engagement at energy `energy`, [0.4, 1]. Source: model 2.3. */
export function engagementAt(energy: number): number {
  return ENGAGEMENT_MIN + (1 - ENGAGEMENT_MIN) * Math.min(1, energy / ENGAGED_ENERGY);
}

/**
 * A reading's departure from the set-point, in standard deviations of this identity's expected
 * readings. `signal` is the reading of `mode`. Source: model 2.3.
 */
export function departureOf(state: State, mode: number, signal: number): number {
  const spread = at(SIGMA, mode) * Math.sqrt(uncertaintyOf(at(state, OFFSET.evidence + mode)));
  return (signal - at(state, OFFSET.setPoint + mode)) / spread;
}

/** Adds a reading with departure `departure` to both charts of `mode`. Source: model 2.3, 3.2. */
export function gatherEvidence(state: State, mode: number, gain: number, departure: number): void {
  const up = OFFSET.risen + mode;
  const down = OFFSET.fallen + mode;
  const risen = at(state, up) + gain * (departure - REFERENCE);
  const fallen = at(state, down) + gain * (-departure - REFERENCE);
  state[up] = clamp(risen, 0, DRIFT_EVIDENCE_MAX);
  state[down] = clamp(fallen, 0, DRIFT_EVIDENCE_MAX);
}

/**
 * Learns from the reading `signal` in mode `mode`. Source: model 2.3.
 *
 * The set-point moves as a running mean, pulled back to the home. The tendencies move by one filter
 * step. The other modes follow by regression on the observed mode. `gain` is the reading's gain;
 * `felt` is the gain after engagement and attention.
 *
 * Keep the order of the multiplications as in the model. A home of 0 can be exactly on a threshold,
 * where the last bit decides.
 */
export function learn(
  state: State,
  mode: number,
  signal: number,
  gain: number,
  felt: number,
): void {
  const evidence = at(state, OFFSET.evidence + mode);
  const pace = gain / (1 + evidence);
  const news = signal - at(state, OFFSET.setPoint + mode);
  const pull = signal - at(state, OFFSET.tendency + mode);
  const kept = 1 - HOME_PULL * at(state, OFFSET.anchoring);
  for (let other = 0; other < MODE_COUNT; other++) {
    const coupling = at(COUPLING, mode * MODE_COUNT + other);
    const home = at(state, OFFSET.home + other);
    const learnt = at(state, OFFSET.setPoint + other) + pace * coupling * news;
    const moved = at(state, OFFSET.tendency + other) + felt * coupling * pull;
    state[OFFSET.setPoint + other] = clamp(home + kept * (learnt - home), LATENT_MIN, LATENT_MAX);
    state[OFFSET.tendency + other] = clamp(moved, LATENT_MIN, LATENT_MAX);
  }
  state[OFFSET.evidence + mode] = Math.min(EVIDENCE_MAX, evidence + gain);
}

/**
 * Chebyshev coefficients in `2t - 1`, with `t = 2 / (2 + x)`, for `ln(erfc(x) / t) + x^2`, `x >=
 * 0`.
 *
 * Interpolated at 64 Chebyshev nodes in 40-digit arithmetic. Truncation contributes less than
 * 1e-14, and erfc's relative error is also below 1e-14.
 */
const ERFC_COEFFICIENTS = Float64Array.of(
  ...[-0.6513268598908547, 0.6419697923564902, 0.019476473204185836],
  ...[-0.009561514786808632, -0.0009465953444820369, 0.00036683949785276145],
  ...[4.252332480690777e-5, -2.0278578112534242e-5, -1.6242900046470256e-6],
  ...[1.3036558355805232e-6, 1.5626441722066142e-8, -8.523809591492654e-8],
  ...[6.5290544390988515e-9, 5.059343495551469e-9, -9.91364156493033e-10],
  ...[-2.273651222931836e-10, 9.646791102015527e-11, 2.3940380830391146e-12],
  ...[-6.886027526497553e-12, 8.944879273090725e-13, 3.130921399342958e-13],
  ...[-1.1270822361367252e-13],
);

/** The complementary error function for `x >= 0`. */
function complementaryError(x: number): number {
  const t = 2 / (2 + x);
  const doubled = 4 * t - 2;
  let current = 0;
  let previous = 0;
  for (let order = ERFC_COEFFICIENTS.length - 1; order > 0; order--) {
    const next = doubled * current - previous + at(ERFC_COEFFICIENTS, order);
    previous = current;
    current = next;
  }
  const series = at(ERFC_COEFFICIENTS, 0) + 0.5 * doubled * current - previous;
  return t * Math.exp(series - x * x);
}

/**
 * Probability that a chi-square variable with 7 degrees of freedom (one per mode) exceeds `q >= 0`.
 * Closed form for odd degrees of freedom. Source: model 3.6.
 */
export function chiSquareTail(q: number): number {
  const density = Math.exp(-0.5 * q) * Math.sqrt((2 * q) / Math.PI);
  const tail = complementaryError(Math.sqrt(0.5 * q)) + density * (1 + q / 3 + (q * q) / 15);
  return Math.min(1, tail);
}
