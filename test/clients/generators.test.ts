import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Generators, installedGenerators } from '#deploy/local/install/generators';
import { MissingServer } from '#deploy/local/install/missing-server';
import { runProgram } from '#deploy/local/processes/run-program';
import { newCaller } from '#test/support/calls/caller';
import { startStandalone } from '#test/support/servers/service';

/*
 * Tests third-party client generators on the published API document. Each client is generated
 * without warnings, compiles, makes the README's calls, and accepts answers of a later release.
 */

const DOCUMENT = resolve('docs/openapi.json');
const CALLS = resolve('test/clients/generated');

/** Timeout of one generator step, in milliseconds. */
const STEP_MS_MAX = 120_000;

const generators = await installedGenerators(console.log).catch((error: unknown) => {
  if (!(error instanceof MissingServer) || process.env['CI'] === 'true') throw error;
  console.log(`there are no generators: ${error.message}`);
  return undefined;
});

const clients = suite('a client generated from the API document');

if (generators !== undefined) generated(generators);

/** Registers the tests, with a folder for each generator and one common service. */
function generated({ python, env, npmFolder }: Generators): void {
  const root = mkdtempSync(join(tmpdir(), 'generators-'));
  const scene = startStandalone();

  async function run(folder: string, program: string, args: readonly string[], more = {}) {
    const step = { program, args, folder, msMax: STEP_MS_MAX, env: { ...env, ...more } };
    const { isOk, output } = await runProgram(step);
    assert.ok(isOk, `${program} ${args.join(' ')}:\n${output}`);
    return output;
  }

  const callsOf = async () => {
    const service = await scene;
    return { API: service.api, KEY: (await newCaller(service)).key };
  };

  const folderOf = (name: string): string => {
    const folder = join(root, name);
    mkdirSync(folder);
    return folder;
  };

  // Report 21: openapi-typescript generated a self-referencing type, which does not compile.
  clients('by openapi-typescript compiles, makes calls, accepts later answers', async () => {
    const folder = folderOf('typescript');
    symlinkSync(join(npmFolder, 'node_modules'), join(folder, 'node_modules'));
    cpSync(join(CALLS, 'calls.ts.txt'), join(folder, 'calls.mts'));
    const modules = join(npmFolder, 'node_modules');
    const generator = join(modules, 'openapi-typescript', 'bin', 'cli.js');
    await run(folder, process.execPath, [generator, DOCUMENT, '-o', 'api.d.ts']);
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const target = ['--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'];
    const compiler = join(modules, 'typescript', 'bin', 'tsc');
    const options = [...strict, ...target, '--lib', 'es2023,dom'];
    await run(folder, process.execPath, [compiler, ...options, 'calls.mts', 'api.d.ts']);
    await run(folder, process.execPath, ['calls.mjs'], await callsOf());
  });

  // Report 21: openapi-python-client omitted the audit lines.
  clients(
    'by openapi-python-client is complete, makes calls, and accepts later answers',
    async () => {
      const folder = folderOf('client');
      const module = ['-m', 'openapi_python_client', 'generate', '--meta', 'none'];
      const where = ['--path', DOCUMENT, '--output-path', 'identity_engine_service_client'];
      const output = await run(folder, python, [...module, ...where]);
      assert.not.match(output, /unable|cannot|removal|omitted|warning parsing/i);
      await run(folder, python, ['-m', 'compileall', '-q', '.']);
      const own = { ...(await callsOf()), PYTHONPATH: `${env['PYTHONPATH']}:${folder}` };
      await run(folder, python, [join(CALLS, 'calls_openapi_python_client.py')], own);
    },
  );

  // Report 21: answer models refused unknown fields and values from a later release.
  clients('by datamodel-code-generator makes calls, and accepts later answers', async () => {
    const folder = folderOf('models');
    const module = ['-W', 'ignore', '-m', 'datamodel_code_generator', '--output', 'models.py'];
    const kind = ['--input-file-type', 'openapi', '--output-model-type', 'pydantic_v2.BaseModel'];
    await run(folder, python, [...module, '--input', DOCUMENT, ...kind]);
    const own = { ...(await callsOf()), PYTHONPATH: `${env['PYTHONPATH']}:${folder}` };
    await run(folder, python, [join(CALLS, 'calls_datamodel_code_generator.py')], own);
  });

  clients.after(async () => {
    await (await scene)[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });
}

clients.run();
