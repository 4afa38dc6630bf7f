import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLine, runProgram } from '#deploy/local/run-program';
import { installedSchemathesis } from '#deploy/local/schemathesis-install';
import { readSchemaReport, type SchemaReport } from '#test/fuzz/schema-report';

/** What one pass may take, in milliseconds, or a run beyond its own time: some 20 s if it is quiet. */
const OVERTIME_MS = 300_000;

/** What is run. */
export type SchemaRun = {
  /** Where the service listens; it must serve its document. */
  readonly origin: string;
  readonly key: string;
  readonly seed: number;
  /** One pass with a number of cases of an endpoint, or as many passes as the seconds hold. */
  readonly extent: { readonly examples: number } | { readonly seconds: number };
  readonly print: (line: string) => void;
};

/**
 * Runs Schemathesis with all phases and all checks against a service that documents itself. Throws
 * `MissingServer` where it cannot be had.
 */
export async function runSchema(run: SchemaRun): Promise<SchemaReport> {
  const { program, args, env } = await installedSchemathesis(run.print);
  const folder = await mkdtemp(join(tmpdir(), 'identity-engine-schemathesis-'));
  try {
    const options = [
      ...['--header', `Authorization: Bearer ${run.key}`],
      ...['--phases', 'examples,coverage,fuzzing,stateful', '--checks', 'all'],
      ...['--seed', `${run.seed}`, '--continue-on-failure'],
      ...('examples' in run.extent
        ? ['--max-examples', `${run.extent.examples}`]
        : ['--max-time', `${run.extent.seconds}`]),
      ...['--no-shrink', '--no-color', '--report', 'ndjson', '--report-dir', folder],
    ];
    const ran = await runProgram({
      program,
      args: [...args, 'run', `${run.origin}/openapi.json`, ...options],
      msMax: ('seconds' in run.extent ? run.extent.seconds * 1_000 : 0) + OVERTIME_MS,
      // It keeps what it found where it is started, and would begin with that the next time.
      folder,
      env,
    });
    const [file] = globSync(join(folder, '*.ndjson'));
    if (file === undefined) throw new Error(`Schemathesis says: ${lastLine(ran.output)}`);
    return await readSchemaReport(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
