import { mkdtemp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Writes files into a new folder in `place`, by base name; returns the folder. */
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
