import { access, constants, glob } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Child, environment } from '#bench/child';

/** The version of k6 that is installed when none is found; 1.x runs TypeScript as it is. */
const K6 = 'go.k6.io/k6@v1.8.1';

/** A program that the benchmark needs is not there; the message is one line that says how to get it. */
export class MissingTool extends Error {
  override readonly name = 'MissingTool';
}

/** Where wrk is. */
export async function findWrk(): Promise<string> {
  const found = await onPath('wrk');
  if (found !== undefined) return found;
  throw new MissingTool('wrk is missing: apt-get install wrk');
}

/** Where Redis is; undefined when it is not installed. */
export async function findRedis(): Promise<string | undefined> {
  return onPath('redis-server');
}

/** Where k6 is: on PATH, or in the cache folder, built there first if need be (about two minutes). */
export async function findK6(print: (line: string) => void): Promise<string> {
  const folder = join(cacheFolder(), 'bin');
  const found = (await onPath('k6')) ?? (await executable(join(folder, 'k6')));
  if (found !== undefined) return found;
  const go = await onPath('go');
  if (go === undefined) throw new MissingTool('k6 is missing: install k6, or Go to build it');
  print(`k6: building ${K6} into ${folder}, once, about two minutes`);
  await using build = new Child({
    name: `go install ${K6}`,
    program: go,
    args: ['install', K6],
    env: environment({ GOBIN: folder }),
  });
  const startedMs = performance.now();
  const progress = setInterval(() => {
    print(`k6: building for ${Math.round((performance.now() - startedMs) / 1_000)} s`);
  }, 10_000);
  const code = await build.ended();
  clearInterval(progress);
  if (code !== 0) throw new MissingTool(`k6 could not be built:\n${build.output.trim()}`);
  return join(folder, 'k6');
}

/** A program on PATH, or below a folder that holds a version a folder: the newest there. */
export async function findProgram(program: string, versions: string): Promise<string | undefined> {
  const found = await onPath(program);
  if (found !== undefined) return found;
  const paths = await Array.fromAsync(glob(`${versions}/*/bin/${program}`));
  const order = new Intl.Collator('en', { numeric: true });
  return paths.toSorted(order.compare).at(-1);
}

function cacheFolder(): string {
  const { XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env;
  return join(XDG_CACHE_HOME, 'identity-engine');
}

async function onPath(program: string): Promise<string | undefined> {
  const { PATH = '' } = process.env;
  for (const folder of PATH.split(delimiter)) {
    const found = await executable(join(folder, program));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  return access(path, constants.X_OK).then(
    () => path,
    () => undefined,
  );
}
