import { access, constants, glob } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** A required program is not installed. The message is a line with the command to install it. */
export class MissingTool extends Error {
  override readonly name = 'MissingTool';
}

/** Path of wrk. */
export async function findWrk(): Promise<string> {
  const found = await onPath('wrk');
  if (found !== undefined) return found;
  throw new MissingTool('wrk is not installed: run apt-get install wrk');
}

/** Path of Redis; undefined if not installed. */
export async function findRedis(): Promise<string | undefined> {
  return onPath('redis-server');
}

/**
 * Finds a program on PATH, else the newest version in `versions`, a folder with a sub-folder per
 * version.
 */
export async function findProgram(program: string, versions: string): Promise<string | undefined> {
  const found = await onPath(program);
  if (found !== undefined) return found;
  const paths = await Array.fromAsync(glob(`${versions}/*/bin/${program}`));
  const order = new Intl.Collator('en', { numeric: true });
  return paths.toSorted(order.compare).at(-1);
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
