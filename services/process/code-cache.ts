import { statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

const FOLDER = '.cache/identity-engine/node';

/**
 * Has Node keep what it compiles from here on for the next start of this user's, which is much faster
 * then. Another folder comes in `NODE_COMPILE_CACHE`; where nothing can be written, or there is no home,
 * every start compiles.
 */
export function keepCompiledCode(): void {
  const home = ownHome();
  if (home !== undefined) enableCompileCache(join(home, FOLDER));
}

/** The home folder, unless it is another user's, who could put code there that this process would run. */
function ownHome(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) && statSync(home).uid === process.geteuid?.() ? home : undefined;
  } catch {
    return undefined;
  }
}
