import { MODE_COUNT } from '#identity/modes';
import { at } from '#identity/numbers';

/** Within-person standard deviation per mode, as a share of the range [0, 1]. Source: model 2.6. */
export const SIGMA = Float64Array.of(0.18, 0.2, 0.18, 0.2, 0.18, 0.16, 0.2);

/**
 * Correlations of the modes within a person, row by row: a labelled design prior. Source: model
 * 2.6.
 */
export const CORRELATION = Float64Array.of(
  ...[1.0, 0.15, 0.2, -0.1, 0.15, 0.1, 0.0],
  ...[0.15, 1.0, -0.3, 0.25, 0.1, -0.1, -0.2],
  ...[0.2, -0.3, 1.0, 0.05, 0.05, 0.3, -0.15],
  ...[-0.1, 0.25, 0.05, 1.0, -0.15, 0.2, -0.15],
  ...[0.15, 0.1, 0.05, -0.15, 1.0, 0.05, -0.2],
  ...[0.1, -0.1, 0.3, 0.2, 0.05, 1.0, -0.3],
  ...[0.0, -0.2, -0.15, -0.15, -0.2, -0.3, 1.0],
);

/** Inverse of `CORRELATION`, row by row: the metric of standardised departures (model 3.1). */
export const CORRELATION_INVERSE = inverseOf(CORRELATION);

/** Inverse of the covariance, row by row: the metric of mode strengths (model 5). */
export const COVARIANCE_INVERSE = CORRELATION_INVERSE.map(
  (value, cell) =>
    value / (at(SIGMA, Math.floor(cell / MODE_COUNT)) * at(SIGMA, cell % MODE_COUNT)),
);

/**
 * Regression of each mode on the observed mode, one row per observed mode. Source: model 2.3.
 *
 * Row `k` holds the movement of each mode when mode `k` moves by one. An observation needs exactly
 * one row, so rows are contiguous.
 */
export const COUPLING = CORRELATION.map((value, cell) => {
  const observed = Math.floor(cell / MODE_COUNT);
  return (value * at(SIGMA, cell % MODE_COUNT)) / at(SIGMA, observed);
});

/**
 * Lower triangular Cholesky factor of `COVARIANCE_INVERSE`. Source: model 5.
 *
 * Its transpose maps strengths to whitened coordinates, in which the model's distance is Euclidean.
 */
const WHITENING = choleskyOf(COVARIANCE_INVERSE);

/** Writes the whitened coordinates of `strengths` to `into`, starting at `offset`. */
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
 * Writes the share of each mode in the quadratic form `vector' metric vector` to `shares`, and
 * returns the sum of the shares.
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
