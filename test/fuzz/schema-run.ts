import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedSchemathesis } from '#deploy/local/install/schemathesis';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { readSchemaReport, type SchemaReport } from '#test/fuzz/schema-report';

/**
 * Maximum time of a single pass, in milliseconds. A pass usually takes 20 s. A run with a duration
 * may exceed its duration by the same time.
 */
const OVERTIME_MS = 300_000;

/** Run parameters. */
export type SchemaRun = {
  /** The service's address, which must serve the API document. */
  readonly origin: string;
  readonly key: string;
  readonly seed: number;
  /** One pass with `examples` cases per endpoint, or repeated passes for a duration. */
  readonly extent: { readonly examples: number } | { readonly seconds: number };
  readonly print: (line: string) => void;
};

/**
 * Runs Schemathesis with all phases and checks against a service. Throws `MissingServer` if
 * Schemathesis is not available.
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
      // Schemathesis stores failures in its working folder and would replay them.
      folder,
      env,
    });
    const [file] = globSync(join(folder, '*.ndjson'));
    if (file === undefined)
      throw new Error(`Schemathesis wrote no report: ${lastLine(ran.output)}`);
    return await readSchemaReport(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
