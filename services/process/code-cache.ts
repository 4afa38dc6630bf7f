import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** In the home folder of the user: no one else may put code there that this process would run. */
const FOLDER = '.cache/identity-engine/node';

/**
 * Has Node keep what it compiles from here on for the next start of this user's, which then takes little
 * more than half as long. Another folder comes in `NODE_COMPILE_CACHE`; where nothing can be written, or
 * there is no home, every start compiles.
 */
export function keepCompiledCode(): void {
  let home: string;
  try {
    home = homedir();
  } catch {
    return;
  }
  enableCompileCache(join(home, FOLDER));
}
