import { keepCompiledCode } from '#process/code-cache';
import { listenForStop } from '#process/life';

const stop = listenForStop();
keepCompiledCode();

// What is imported above is compiled before anything can be kept.
const { runCommand } = await import('#process/command');
process.exitCode = await runCommand(process.argv[2] ?? '', process.argv.slice(3), stop);
