import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '#deploy/local/install/cache-folder';

/**
 * Returns the cache folder `name`; calls `fill` if the folder is missing. A failed `fill` leaves no
 * files. Concurrent calls fill separate folders; the first complete folder gets the name.
 */
export async function installOnce(
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const target = join(cacheFolder(), name);
  if (existsSync(target)) return target;
  await mkdir(cacheFolder(), { recursive: true });
  const folder = await mkdtemp(`${target}.part-`);
  try {
    await fill(folder);
    await rename(folder, target).catch((error: unknown) => {
      if (!existsSync(target)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return target;
}
