import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DOCUMENTS, type Document, documentOf } from '#test/docs/documents';

/** Matches the part of a table cell or sentence before `([measured](page))`. */
const MEASURED = /((?:(?![.!?] )[^|\n])*)\(\[measured\]\(([^)#\s]+)[^)\s]*\)\)/g;

/** Matches a result: a verb with a duration or a size, such as `took 56 s`. */
const RESULT =
  /\b(?:took|lasted|(?:takes?|costs?|needs?|lasts|spends?)(?: about)?) \d[\d.,]*(?: to \d[\d.,]*)? ?(?:µs|ms|s|min|minutes|[kKMG]i?B)\b/;

/** Pages that consist of results, so that their figures need no mark. */
const RESULT_PAGES: readonly string[] = [
  'docs/chaos.md',
  'docs/pods.md',
  'docs/power-loss.md',
  'loadtest/README.md',
];

const NUMBER = /(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.,-])\d+(?:\.\d+)?/g;

/** Figures marked as measured that their page does not have, and marks without a figure. */
function unmeasuredIn({ path, text }: Document): string[] {
  return [...unwrapped(text).matchAll(MEASURED)].flatMap(([, claim = '', page = '']) => {
    const figures = numbersIn(claim);
    if (figures.length === 0) return [`${path}: no figure before the mark: ${claim}`];
    const results = numbersIn(readFileSync(join(dirname(path), page), 'utf8')).map(amountOf);
    return figures
      .filter((figure) => !results.some((result) => roundsTo(result, figure)))
      .map((figure) => `${path}: ${page} has no ${figure}`);
  });
}

/** Sentences and table cells with a result, but without a mark. */
function unmarkedIn({ path, text }: Document): string[] {
  if (RESULT_PAGES.includes(path)) return [];
  return unwrapped(text)
    .split(/[|\n]|(?<=[.!?]) /)
    .filter((sentence) => RESULT.test(sentence) && !sentence.includes('([measured]('))
    .map((sentence) => `${path}: not marked as measured: ${sentence}`);
}

/** A text without code blocks, with each paragraph and list item on one line. */
function unwrapped(text: string): string {
  const prose = text.replaceAll(/^( *)```.*\n[\s\S]*?^\1```$/gm, '');
  return prose.replaceAll(/\n(?![\n|#<]| *(?:[-*]|\d+\.) ) */g, ' ');
}

const numbersIn = (text: string): string[] => [...text.matchAll(NUMBER)].map(([all]) => all);

const amountOf = (figure: string): number => Number(figure.replaceAll(',', ''));

/** Whether a result, rounded to the last digit of `figure` that is not 0, equals `figure`. */
function roundsTo(result: number, figure: string): boolean {
  const decimals = figure.split('.')[1]?.length ?? 0;
  const zeros = decimals > 0 ? 0 : (/0*$/.exec(figure.replaceAll(',', ''))?.[0].length ?? 0);
  const unit = 10 ** (zeros - decimals);
  return Math.abs(Math.round(result / unit) * unit - amountOf(figure)) < unit / 2;
}

const figures = suite('a measured figure of a document');

figures('is on the page of results that the document links', () => {
  assert.equal(DOCUMENTS.flatMap(unmeasuredIn), []);
  assert.ok(DOCUMENTS.some(({ text }) => text.includes('([measured](')));
});

figures('is marked', () => {
  assert.equal(DOCUMENTS.flatMap(unmarkedIn), []);
});

for (const [text, faults] of [
  ['| 15,000 a second ([measured](bench/RESULTS.md)) |', 0],
  ['| 15,900 a second ([measured](bench/RESULTS.md)) |', 1],
  ['A limit is 77 s. The file has\n15,900 a second\n([measured](bench/RESULTS.md)).', 1],
  ['| fast ([measured](bench/RESULTS.md)) |', 1],
] as const) {
  figures(`is ${faults === 0 ? 'accepted' : 'rejected'} in ${text}`, () => {
    assert.is(unmeasuredIn(documentOf('README.md', text)).length, faults);
  });
}

for (const [text, faults] of [
  ['A copy took 56 s.', 1],
  ['- A copy takes about\n  2.5 s.', 1],
  ['| a call costs 45 to 63 µs |', 1],
  ['A copy took 281 s ([measured](bench/RESULTS.md)).', 0],
  ['Answers that took over 50 ms are late.', 0],
  ['An actor remembers the last 20 s.', 0],
] as const) {
  figures(`needs ${faults === 0 ? 'no mark' : 'a mark'} in ${text}`, () => {
    assert.is(unmarkedIn(documentOf('README.md', text)).length, faults);
  });
}

figures.run();
