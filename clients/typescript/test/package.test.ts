import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { outputOf } from '../../../deploy/local/processes/run-program.ts';
import { buildPackage } from '../../../deploy/packages/packages.ts';
import { newCaller } from '../../../test/support/calls/caller.ts';
import { startStandalone } from '../../../test/support/servers/service.ts';
import { RecordingProxy } from './support/recording-proxy.ts';

/*
 * Tests the package as users install it: built, packed, installed into an empty project. In this
 * project, runs the README's programs and the examples against a real service. Installs the
 * package's tools once, from the package's lockfile.
 */

const HERE = new URL('..', import.meta.url).pathname;
const TOOLS = join(HERE, 'node_modules/.bin');

/** Timeout per program, build or installation, in milliseconds. */
const RUN_MS_MAX = 120_000;

/** Address of a repository, for the links of the package. */
const REPOSITORY = 'https://git.example/owner/name';

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-'));
const service = await startStandalone();
const { key } = await newCaller(service);
let tarball = '';

const packed = suite('the package');

packed.before(async () => {
  [tarball = ''] = await buildPackage('typescript', { repository: REPOSITORY, out: folder });
  writeFileSync(
    join(folder, 'package.json'),
    '{"name":"of-a-user","private":true,"type":"module"}',
  );
  await run(
    'npm',
    ['install', '--silent', '--no-audit', '--no-fund', '--offline', tarball],
    folder,
  );
});

packed.after(async () => {
  rmSync(folder, { recursive: true });
  await service[Symbol.asyncDispose]();
});

packed('has models that match the source document', async () => {
  await run(process.execPath, ['models/write-models.ts', '--check'], HERE);
});

packed('passes publint and attw', async () => {
  await run(
    join(TOOLS, 'publint'),
    ['--strict', join(folder, 'node_modules/identity-engine')],
    HERE,
  );
  await run(join(TOOLS, 'attw'), [tarball, '--profile', 'esm-only'], HERE);
});

packed('contains only code, types, examples and two documents', () => {
  const files = readdirSync(join(folder, 'node_modules/identity-engine')).sort();
  assert.equal(files, ['CHANGELOG.md', 'README.md', 'dist', 'examples', 'package.json']);
  assert.equal(readdirSync(join(folder, 'node_modules')).sort(), [
    '.package-lock.json',
    'identity-engine',
  ]);
});

packed('has absolute links only, and names its repository', () => {
  const installed = join(folder, 'node_modules/identity-engine');
  for (const name of ['README.md', 'CHANGELOG.md']) {
    const text = readFileSync(join(installed, name), 'utf8');
    const targets = [...text.matchAll(/\]\(([^)]*)\)/g)].map(([, target = '']) => target);
    assert.ok(
      targets.some((target) => target.startsWith(`${REPOSITORY}/blob/v`)),
      name,
    );
    assert.equal(
      targets.filter((target) => !/^(?:https:|#)/.test(target)),
      [],
      name,
    );
  }
  const { repository } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.is(repository.url, `git+${REPOSITORY}.git`);
});

packed('documents every export without a warning', async () => {
  await run(join(TOOLS, 'typedoc'), ['--out', join(folder, 'docs')], HERE);
});

const programs = programsOfReadme();

packed('has programs in the README', () => assert.ok(programs.length >= 10));

for (const resolution of ['nodenext', 'bundler'] as const) {
  packed(`has types that compile in strict mode with ${resolution}`, async () => {
    const user = userFolder(`types-${resolution}`);
    writeFileSync(join(user, 'user.ts'), USER);
    for (const [index, program] of programs.entries()) {
      writeFileSync(join(user, `readme-${index}.ts`), program);
    }
    // framework-packages.test.ts compiles the examples of frameworks.
    for (const name of ['agent-loop.ts', 'fleet.ts']) {
      cpSync(join(HERE, 'examples', name), join(user, name));
    }
    const module = resolution === 'nodenext' ? 'nodenext' : 'esnext';
    const options = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--target', 'es2022'];
    const types = ['--types', 'node', '--typeRoots', join(HERE, 'node_modules/@types')];
    const how = ['--module', module, '--moduleResolution', resolution];
    const files = readdirSync(user).filter((name) => name.endsWith('.ts'));
    await run(join(TOOLS, 'tsc'), [...options, ...types, ...how, ...files], user);
  });
}

for (const [index, program] of programs.entries()) {
  packed(`runs program ${index + 1} of the README`, () => {
    const user = userFolder(`readme-${index}`);
    writeFileSync(join(user, 'try.mjs'), program);
    assert.match(runProgram(user, 'try.mjs'), /\S/);
  });
}

packed("runs the README's program for proxies with undici, which also compiles", async () => {
  const user = userFolder('proxies');
  const modules = join(user, 'node_modules');
  mkdirSync(modules);
  cpSync(join(HERE, 'node_modules/undici'), join(modules, 'undici'), { recursive: true });
  await using proxy = await RecordingProxy.start(Number(new URL(service.api).port));
  const program = programsOfReadme('js').map((text) =>
    text.replace('proxy.example:3128', proxy.host),
  );
  assert.is(program.length, 1);
  writeFileSync(join(user, 'try.mts'), program.join());
  const options = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--skipLibCheck'];
  const types = ['--types', 'node', '--typeRoots', join(HERE, 'node_modules/@types')];
  await run(join(TOOLS, 'tsc'), [...options, ...types, '--module', 'nodenext', 'try.mts'], user);
  const { stdout } = await promisify(execFile)(process.execPath, ['try.mts'], {
    ...{ cwd: user, env: envOf(), timeout: RUN_MS_MAX },
  });
  assert.match(stdout, /\w/);
  assert.is(proxy.received[0]?.headers['proxy-authorization'], `Basic ${btoa('user:password')}`);
});

for (const [name, sizes, said] of [
  ['agent-loop.ts', [], /^3 the build is broken\n4 asked for help$/m],
  ['fleet.ts', ['1000', '2'], /^2000 observations of 1000 agents in \d+ batches/m],
] as const) {
  packed(`runs examples/${name}`, () => {
    const user = userFolder(name);
    cpSync(join(HERE, 'examples', name), join(user, name));
    assert.match(runProgram(user, name, ...sizes), said);
  });
}

// Report 3: a killed process lost its buffered observations.
packed('has a buffer that continues from the spool of a killed process', () => {
  const user = userFolder('killed');
  writeFileSync(join(user, 'killed.mjs'), KILLED);
  writeFileSync(join(user, 'next.mjs'), NEXT);
  const killed = spawnSync(process.execPath, ['killed.mjs'], {
    ...{ cwd: user, env: envOf(), encoding: 'utf8', timeout: RUN_MS_MAX },
  });
  assert.is(killed.signal, 'SIGKILL', killed.stderr);
  assert.is(runProgram(user, 'next.mjs', killed.stdout.trim()).trim(), '200 200 0');
  assert.is(runProgram(user, 'next.mjs', killed.stdout.trim()).trim(), '0 200 0');
});

packed('is imported as a module, with the version of package.json', () => {
  const user = userFolder('import');
  const text = "import { VERSION } from 'identity-engine'; console.log(VERSION);";
  writeFileSync(join(user, 'try.mjs'), text);
  const { version } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'));
  assert.is(runProgram(user, 'try.mjs').trim(), version);
});

/**
 * Program that adds 200 observations and is killed. The service has stored some of the
 * observations, but the process has received no answer.
 */
const KILLED = `
import { IdentityEngine, ObservationBuffer } from 'identity-engine';
import { FileSpool } from 'identity-engine/file-spool';
const silent = async (url, init) => {
  if (String(url).endsWith('/batch')) await fetch(url, init).then(() => new Promise(() => {}));
  return await fetch(url, init);
};
const client = new IdentityEngine({ fetch: silent });
const { data } = await client.instances.create({ name: 'Ada' });
const buffer = new ObservationBuffer(client, { spool: new FileSpool('spool'), batchMax: 20 });
const startMs = Date.now() - 3_600_000;
for (let number = 0; number < 200; number += 1) {
  const timestamp = new Date(startMs + number * 1_000).toISOString();
  await buffer.add(data.id, { mode_target: 'ORDER', signal_strength: 0.5, timestamp });
}
while ((await client.instance(data.id).snapshot()).data.cycle === 0);
process.stdout.write(data.id, () => process.kill(process.pid, 'SIGKILL'));
`;

const NEXT = `
import { IdentityEngine, ObservationBuffer } from 'identity-engine';
import { FileSpool } from 'identity-engine/file-spool';
const client = new IdentityEngine();
const buffer = new ObservationBuffer(client, { spool: new FileSpool('spool') });
const { acknowledged, throttledCount } = await buffer.close();
const { cycle } = (await client.instance(process.argv[2]).snapshot()).data;
console.log(acknowledged, cycle, throttledCount);
`;

/** User code: lines that must compile, and lines that must not. */
const USER = `
import { type Contract, IdentityEngine, type Result, type StressState } from 'identity-engine';
const client = new IdentityEngine({ apiKey: 'k' });
const instance = client.instance('inst_0000000000000000');
export const contract: Promise<Result<Contract>> = instance.contract();
export const later = client.request<{ a: 1 }>('POST', '/later', { body: [1], query: { b: true } });
export const tomorrow: StressState = 'BEYOND';
/** Options may be undefined. */
export function like(apiKey?: string, signal?: AbortSignal, ifMatch?: string) {
  const options = { signal, timeoutMs: undefined, idempotencyKey: undefined, headers: undefined };
  new IdentityEngine({ apiKey, fetch: undefined, headers: undefined, application: undefined })
    .instance('i').events({ signal, after: undefined });
  instance.guard({ maxAgeMs: undefined });
  return [instance.reset('initial', { ...options, ifMatch }), instance.processBatch([], options)];
}
export async function all() {
  const plain = await instance.snapshot();
  const cycle: number = plain.data.cycle;
  const maybe = await instance.snapshot({ ifNoneMatch: 'x' });
  // @ts-expect-error: there may be no data
  maybe.data.cycle;
  const states = await instance.processBatch([], { includeIntermediate: true });
  const last = states.data.states.at(-1)?.contract.allowed_actions.includes('explore');
  // @ts-expect-error: unknown mode
  await instance.process({ mode_target: 'MOOD', signal_strength: 1 });
  // @ts-expect-error: misspelt action
  instance.guard().allows('exlpore');
  return { cycle, last };
}
`;

function programsOfReadme(language = 'ts'): string[] {
  const text = readFileSync(join(HERE, 'README.md'), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, name]) => name === language).map(([, , program = '']) => program);
}

/** Creates a folder in the user's project. Programs there can import the installed package. */
function userFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

/** Runs a program with key and address in its environment and returns its output. */
function runProgram(cwd: string, ...args: string[]): string {
  const env = envOf();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd, env, encoding: 'utf8', timeout: RUN_MS_MAX },
  });
  assert.is(status, 0, `${args[0]}: ${stderr}${stdout}`);
  return stdout;
}

/** Environment of a user's program. */
function envOf() {
  return {
    PATH: process.env['PATH'],
    IDENTITY_ENGINE_API_KEY: key,
    IDENTITY_ENGINE_BASE_URL: service.api,
  };
}

function run(program: string, args: readonly string[], folder: string): Promise<string> {
  return outputOf({ program, args, folder, msMax: RUN_MS_MAX });
}

packed.run();
