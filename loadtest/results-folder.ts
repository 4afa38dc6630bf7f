import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ProfileName } from '#loadtest/k6/profile';

/**
 * Creates the folder of a run below `given`, else below the user's state folder. The folder's name
 * is time and profile.
 */
export async function openResultsFolder(
  given: string | undefined,
  name: ProfileName,
  now: Date,
): Promise<string> {
  const stamp = now.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
  const folder = join(parentOf(given), `${stamp}-${name}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

function parentOf(given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  const state = process.env['XDG_STATE_HOME'] ?? '';
  const root = state === '' ? join(homedir(), '.local/state') : state;
  return join(root, 'identity-engine/load');
}
