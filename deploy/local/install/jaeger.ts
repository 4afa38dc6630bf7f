import { existsSync } from 'node:fs';
import { chmod, cp, glob, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '#deploy/local/install/cache-folder';
import { goProgram } from '#deploy/local/install/go-program';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Tested version: the last version that is a single program without settings. */
const VERSION = 'v1.76.0';
const MODULE = `github.com/jaegertracing/jaeger@${VERSION}`;

const FOLDER = `jaeger-${VERSION}-go`;
const PROGRAM = 'jaeger-all-in-one';

/** Maximum build time, in milliseconds. A first build takes five minutes on two idle cores. */
const BUILD_MS_MAX = 1_800_000;

/**
 * Path of Jaeger's all-in-one program, which receives spans by OTLP and serves traces by HTTP: from
 * `PATH` or the cache. Builds nothing, because a build takes minutes. Throws `MissingServer`.
 */
export function foundJaeger(): string {
  const onPath = programPath(PROGRAM);
  if (onPath !== undefined) return onPath;
  const cached = join(cacheFolder(), FOLDER, PROGRAM);
  if (existsSync(cached)) return cached;
  throw new MissingServer('Jaeger is not installed: run make tools');
}

/** Like `foundJaeger`, but builds a missing program with Go into the cache. */
export async function installedJaeger(print: Print): Promise<string> {
  const onPath = programPath(PROGRAM);
  if (onPath !== undefined) return onPath;
  const folder = await installOnce(FOLDER, async (target) => {
    const go = await goProgram(`Jaeger ${VERSION}`, print);
    await withProgress(print, `jaeger: building ${VERSION}`, () => build(go, target));
  });
  return join(folder, PROGRAM);
}

/** Builds from a copy of the source, because Go does not build inside its module cache. */
async function build(go: string, target: string): Promise<void> {
  const source = join(target, 'source');
  const downloaded = await runGo(go, target, ['mod', 'download', '-json', MODULE]);
  const [, module] = /"Dir": "([^"]+)"/.exec(downloaded) ?? [];
  if (module === undefined) throw new MissingServer(`Go downloaded no ${MODULE}`);
  await cp(module, source, { recursive: true });
  // Go's module cache is read-only, and so are its copies.
  for await (const folder of glob('**/', { cwd: source })) await chmod(join(source, folder), 0o755);
  await runGo(go, source, ['build', '-o', join(target, PROGRAM), './cmd/all-in-one']);
  await rm(source, { recursive: true });
}

async function runGo(go: string, folder: string, args: readonly string[]): Promise<string> {
  const run = await runProgram({ program: go, args, folder, msMax: BUILD_MS_MAX });
  if (!run.isOk) throw new MissingServer(`Jaeger could not be built: ${lastLine(run.output)}`);
  return run.output;
}
