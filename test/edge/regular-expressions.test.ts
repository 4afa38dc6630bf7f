import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/** Characters in a hostile input; more than any header or body field may have. */
const LENGTH = 50_000;

/** Maximum CPU time per match, best of three, in milliseconds. Source: attacks, "ReDoS". */
const MATCH_MS_MAX = 5;

/** A regular expression literal: text between slashes after a token that is not a value. */
const LITERAL =
  /(?<=[=(,:!&|?]\s*)\/((?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)(?=[;,.)\s])/g;

/** Texts to repeat. Every character class of the expressions matches one of these texts. */
const PIECES = [
  ...[' ', '\t', ';', '"', ',', '/', '*', '-', '.', ':', '%', '0', '9', 'a', 'Z', '_', '\\', '='],
  ...['W/"', '"",', '"" , ', '; charset', ';charset=', 'charset = "', '; ', 'T', '00:', '-00'],
  ...['svc_sk_', 'inst_', '%00', '%zz', 'http://', '://', '/v1', '\u0301', '👩', '\ud800'],
];
const STARTS = ['', '"', '"a"', ';', '*', '2026-01-01T00:00:00', 'svc_sk_', 'inst_', '/v1/'];
const ENDS = ['', '!', '"', '\n'];

const files = globSync(['services/programs/edge/**/*.ts', 'services/domain/accounts/**/*.ts']);
const expressions = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(LITERAL)].map(([, source = '', flags = '']) => ({
    file,
    expression: new RegExp(source, flags.replace('g', '')),
  })),
);

const hostile = suite('a hostile text of 50,000 characters');

hostile('is matched with at least 12 regular expressions of edge and accounts', () => {
  const found = expressions.map(({ expression }) => String(expression)).join('\n');
  assert.ok(expressions.length >= 12, found);
  for (const known of ['svc_sk_', 'inst_', 'charset', '[A-Za-z0-9._-]', '[2-9]\\d{3}', 'W\\/']) {
    assert.ok(found.includes(known), known);
  }
});

for (const { file, expression } of expressions) {
  hostile(`is matched quickly by ${expression} (${file})`, () => {
    for (const piece of PIECES) {
      const middle = piece.repeat(Math.ceil(LENGTH / piece.length));
      for (const start of STARTS) {
        for (const end of ENDS) {
          const text = start + middle + end;
          const ms = bestMs(expression, text);
          assert.ok(ms < MATCH_MS_MAX, `${ms} ms: ${start} ${piece}… ${end}`);
        }
      }
    }
  });
}

hostile.run();

/** Shortest CPU time in up to three runs, in milliseconds. Repeats only slow runs. */
function bestMs(expression: RegExp, text: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3 && best >= MATCH_MS_MAX; i += 1) {
    const before = process.threadCpuUsage();
    expression.test(text);
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}
