import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { goProgram } from '#deploy/local/install/go-program';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/**
 * Maximum build time, in ms. The largest build takes six minutes on two cores; Go reuses parts of
 * an interrupted build.
 */
const BUILD_MS_MAX = 2_400_000;
const FETCH_MS_MAX = 300_000;

/** A Go module that `go install` refuses, because go.mod replaces or excludes modules. */
export type GoModule = {
  readonly path: string;
  readonly version: string;
  /** Published version of the modules that go.mod replaces by folders; undefined for none. */
  readonly besideVersion: string | undefined;
  /** Go version in go.mod. */
  readonly go: string;
  readonly ldflags: string;
  /** Build tags. */
  readonly tags?: string;
  /** Whether the program needs a C compiler. By default, programs are static. */
  readonly hasC?: boolean;
};

/**
 * Builds a program of a Go module into the cache, once. Returns the program's path. Throws
 * `MissingServer`.
 */
export async function goBuild(
  module: GoModule,
  { name, path }: { readonly name: string; readonly path: string },
  print: Print,
): Promise<string> {
  const { ldflags, tags = '', hasC = false } = module;
  const kind = [name, module.version, ...(tags === '' ? [] : [tags]), ...(hasC ? ['c'] : []), 'go'];
  const folder = await installOnce(kind.join('-'), async (target) => {
    const go = await goProgram(`${name} ${module.version}`, print);
    await writeFile(join(target, 'go.mod'), await moduleFile(go, module));
    // Go verifies downloads against the public checksum database.
    const flags = ['-mod=mod', '-trimpath', '-ldflags', ldflags, '-tags', tags];
    const args = ['build', ...flags, '-o', join(target, name), path];
    const env = { CGO_ENABLED: hasC ? '1' : '0' };
    const build = () => runProgram({ program: go, args, env, folder: target, msMax: BUILD_MS_MAX });
    const what = `${name}: building ${module.version}`;
    const { isOk, output } = await withProgress(print, what, build);
    if (!isOk) throw new MissingServer(`${name} could not be built: ${lastLine(output)}`);
  });
  return join(folder, name);
}

/** Text of a go.mod that requires the module and replaces folders by published modules. */
async function moduleFile(go: string, module: GoModule): Promise<string> {
  const { path, version, besideVersion } = module;
  const args = ['mod', 'download', '-json', `${path}@${version}`];
  const { isOk, output } = await runProgram({ program: go, args, msMax: FETCH_MS_MAX });
  if (!isOk)
    throw new MissingServer(`${path} ${version} could not be fetched: ${lastLine(output)}`);
  const { GoMod: file } = JSON.parse(output.slice(output.indexOf('{'))) as { GoMod: string };
  const original = await readFile(file, 'utf8');
  const folders = [...original.matchAll(/^\t(\S+) => \.\/\S+$/gm)].map(([, name = '']) => name);
  const replaced = folders.map((name) => `replace ${name} => ${name} ${besideVersion}`);
  return [
    'module built',
    `go ${module.go}`,
    `require ${path} ${version}`,
    ...(besideVersion === undefined ? [] : replaced),
    '',
  ].join('\n');
}
