// Entry point of all processes and commands: `node services/main.ts <command>`.
import { statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { listenForStop } from '#startup/process/stop-signals';

/** Folder of the compile cache in the user's home folder. */
const CACHE_FOLDER = '.cache/identity-engine/node';

const stop = listenForStop();
keepCompiledCode();

// Import dynamically: static imports are compiled before the compile cache is enabled.
const { runCommand } = await import('#startup/command');
process.exitCode = await runCommand(process.argv[2] ?? '', process.argv.slice(3), stop);

/**
 * Enables Node's compile cache in the user's home folder, which makes the next start much faster.
 * `NODE_COMPILE_CACHE` names another folder. Without a writable folder, every start compiles.
 */
function keepCompiledCode(): void {
  const home = ownHome();
  if (home === undefined) return;
  const folder = join(home, CACHE_FOLDER);
  enableCompileCache(folder);
  // Threads, such as the threads of a data file, find the folder only in the environment.
  process.env['NODE_COMPILE_CACHE'] ??= folder;
}

/**
 * Home folder. Undefined if another user owns the folder, because that user could place code there
 * for this process to run.
 */
function ownHome(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) && statSync(home).uid === process.geteuid?.() ? home : undefined;
  } catch {
    return undefined;
  }
}
