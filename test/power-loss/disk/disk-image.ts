import { mkdtemp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Writes files by their base names into a new folder in `place`. Returns the folder. */
export async function writeImage(
  place: string,
  files: ReadonlyMap<string, Buffer>,
): Promise<string> {
  const folder = await mkdtemp(join(place, 'image-'));
  for (const [path, bytes] of files) {
    await writeFile(join(folder, basename(path)), bytes, { mode: 0o600 });
  }
  return folder;
}
