// Entry point of all processes and commands: `node services/main.ts <command>`.
import { keepCompiledCode } from '#startup/process/code-cache';
import { listenForStop } from '#startup/process/lifetime';

const stop = listenForStop();
keepCompiledCode();

// Import dynamically: static imports are compiled before the compile cache is enabled.
const { runCommand } = await import('#startup/command');
process.exitCode = await runCommand(process.argv[2] ?? '', process.argv.slice(3), stop);
