/** Median, minimum and maximum of several measurements. */
export type Spread = { readonly median: number; readonly min: number; readonly max: number };

/** The spread of `values`; NaN if `values` is empty. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const [min = Number.NaN] = sorted;
  return { median: (lower + upper) / 2, min, max: sorted.at(-1) ?? Number.NaN };
}

/** Quantile of sorted values by nearest rank; NaN if there are no values. */
export function quantileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Quartiles of `values` by nearest rank; NaN if empty. */
export function quartilesOf(values: readonly number[]): readonly [number, number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  return [quantileOf(sorted, 0.25), spreadOf(values).median, quantileOf(sorted, 0.75)];
}

/** Quartiles of `values`, separated by commas. */
export function quartilesText(values: readonly number[], decimals: number): string {
  return quartilesOf(values)
    .map((value) => numberText(value, decimals))
    .join(', ');
}

/** `median (min..max)` with the given number of decimals, thousands separated. */
export function spreadText(spread: Spread, decimals: number): string {
  if (Number.isNaN(spread.median)) return 'none';
  const { median, min, max } = spread;
  const [middle, least, most] = [median, min, max].map((value) => numberText(value, decimals));
  return least === most ? `${middle}` : `${middle} (${least}..${most})`;
}

/** A number with fixed decimals and separated thousands. */
export function numberText(value: number, decimals: number): string {
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString('en-US', options);
}

/** Bytes in a MiB. */
export const BYTES_PER_MIB = 2 ** 20;

/** Bytes as MiB. */
export function mebibytes(bytes: number, decimals = 0): string {
  return `${numberText(bytes / BYTES_PER_MIB, decimals)} MiB`;
}
