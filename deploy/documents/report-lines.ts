import { globSync, readFileSync } from 'node:fs';
import { tableLines } from '#deploy/documents/markdown-table';

/** Files that may contain reports. */
const TEST_FILES = [
  'test/**/*.test.ts',
  'clients/typescript/test/**/*.test.ts',
  'clients/python/tests/**/test_*.py',
];

/** A report comment: number of the finding, and a short sentence about the fault. */
const REPORT = /^\s*(?:\/\/|#) Report (\d+): (.+)$/;

/** Title of a TypeScript test, or function name of a Python test. */
const TITLE = /^\s*(?:(?:async )?def (test_\w+)|[\w.]+\(\s*(?:'(.+?)'|"(.+?)"|`(.+?)`))/;

/**
 * Table of reported faults and their regression tests, by number of the finding. A report is a
 * comment such as `Report 23: a full log disk ended the process` directly above its test. Throws if
 * no test follows a report.
 */
export function reportLines(): string[] {
  const rows = globSync(TEST_FILES).sort().flatMap(reportsIn);
  rows.sort((left, right) => left.finding - right.finding);
  return tableLines(
    ['Finding', 'Fault', 'Test', 'File'],
    rows.map(({ finding, fault, title, path }) => [`${finding}`, fault, title, path]),
  );
}

function reportsIn(path: string) {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((line, at) => {
    const [, finding, fault = ''] = REPORT.exec(line) ?? [];
    if (finding === undefined) return [];
    const from = lines.findIndex((each, n) => n > at && !REPORT.test(each) && !/^\s*@/.test(each));
    const found = TITLE.exec(lines.slice(from, from + 2).join(' '));
    const title = found?.slice(1).find((each) => each !== undefined);
    if (title === undefined)
      throw new Error(`${path}:${at + 1}: move this report directly above its test`);
    return [{ finding: Number(finding), fault, title, path }];
  });
}
