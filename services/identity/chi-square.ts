import { at } from '#identity/at';

/**
 * Chebyshev coefficients, in `2t - 1` with `t = 2 / (2 + x)`, of `ln(erfc(x) / t) + x^2` for
 * `x >= 0`. Interpolated at 64 Chebyshev nodes in 40-digit arithmetic; what is left out is below
 * 1e-14, so the relative error of erfc is too.
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
 * Probability that a chi-square variable with 7 degrees of freedom, one per mode, exceeds `q >= 0`.
 * Closed form for odd degrees of freedom. Source: model 3.6.
 */
export function chiSquareTail(q: number): number {
  const density = Math.exp(-0.5 * q) * Math.sqrt((2 * q) / Math.PI);
  const tail = complementaryError(Math.sqrt(0.5 * q)) + density * (1 + q / 3 + (q * q) / 15);
  return Math.min(1, tail);
}
