import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Mutant } from '#test/mutation/mutant';
import { runTestFile } from '#test/mutation/test-process';

/** A test file with its duration and the code that it reaches. */
export type TestFile = {
  readonly file: string;
  readonly ms: number;
  readonly reaches: (mutant: Mutant) => boolean;
};

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type Script = { readonly url: string; readonly functions: readonly { readonly ranges: Range[] }[] };

/** Maximum time of a test file without mutation. */
const UNCHANGED = { cpuSeconds: 240, wallMs: 240_000 };

/**
 * Runs a test file without mutation, and collects its V8 coverage. Node.js replaces types by
 * blanks, so that offsets equal the offsets in the source. Throws if the test file fails.
 */
export async function observe(file: string): Promise<TestFile> {
  const folder = mkdtempSync(join(tmpdir(), 'coverage-'));
  try {
    // V8 counts cached code only by whole functions.
    await run(file, { NODE_V8_COVERAGE: folder, NODE_DISABLE_COMPILE_CACHE: '1' });
    const startedMs = performance.now();
    await run(file, {});
    const ms = performance.now() - startedMs;
    const scripts = readdirSync(folder).flatMap((name) => scriptsOf(join(folder, name)));
    const byUrl = Map.groupBy(scripts, ({ url }) => url);
    const reaches = ({ file: source, start }: Mutant): boolean =>
      (byUrl.get(pathToFileURL(source).href) ?? []).some((script) => isReached(script, start));
    return { file, ms, reaches };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(file: string, variables: Readonly<Record<string, string>>): Promise<void> {
  const ending = await runTestFile(file, variables, UNCHANGED);
  if (ending !== 'passed') throw new Error(`${file} fails without a mutation: fix the test first`);
}

function scriptsOf(report: string): Script[] {
  const { result } = JSON.parse(readFileSync(report, 'utf8')) as { result: Script[] };
  return result.filter(({ url }) => url.includes('/services/'));
}

/** Whether code at an offset ran. The innermost of the nested ranges decides. */
function isReached({ functions }: Script, place: number): boolean {
  const around = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= place && place < endOffset);
  const length = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  const innermost = around.toSorted((one, other) => length(one) - length(other))[0];
  return (innermost?.count ?? 0) > 0;
}
