import { setImmediate as nextTurn } from 'node:timers/promises';
import { assertStorageNamed, type Config, ConfigError, readConfig } from '#config';
import { beginLog, printRefusal, refusalReporter } from '#startup/process/dependencies';
import { endOnUncaught, live } from '#startup/process/lifetime';
import { logOrigin } from '#startup/process/node-name';
import { exitCodeOf } from '#startup/process/stop-signals';
import { assertProduction } from '#startup/production';
import { systemClock } from '#stdlib/clock';
import { releaseOf } from '#stdlib/release';
import { createLogger, STANDARD_ERROR, STANDARD_OUTPUT } from '#telemetry/logger';

/** Roles of the executable, loaded on demand. */
const PARTS = {
  standalone: async (config: Config) => {
    await (await import('#startup/ports')).prepareStores(config);
    return (await import('#startup/standalone')).openStandalone;
  },
  edge: async () => (await import('#startup/edge')).openEdge,
  engine: async () => (await import('#startup/engine')).openEngine,
  limiter: async () => (await import('#startup/limiter')).openLimiter,
  courier: async () => (await import('#startup/courier')).openCourier,
  console: async () => (await import('#startup/console')).openConsole,
} as const;

/** Timer period that keeps `ctl` running, in milliseconds. Any long period works. */
const STAYING_MS = 60_000;

const USAGE = `usage: main.ts ${Object.keys(PARTS).join('|')}
       main.ts migrate
       main.ts --version
       main.ts ctl --help
`;

/**
 * Runs the command that the arguments name. Fulfils with the exit code. After an abort of `stop`,
 * the command closes everything that it opened, and ends.
 */
export async function runCommand(
  part: string,
  rest: readonly string[],
  stop: AbortSignal,
): Promise<number> {
  const end = () => process.exit(exitCodeOf(stop));
  let report = printRefusal;
  // The event loop delivers a signal that arrived while modules were loaded.
  await nextTurn();
  if (part === '--version' && rest.length === 0) {
    STANDARD_OUTPUT.write(`${releaseOf()}\n`);
    return 0;
  }
  try {
    const config = readConfig();
    if (part === 'ctl' || part === 'migrate') {
      if (stop.aborted) end();
      stop.addEventListener('abort', end);
    }
    // A command on a file handles `stop` itself, to remove unfinished output before the end.
    const stopOfFile = () => {
      stop.removeEventListener('abort', end);
      return stop;
    };
    if (part === 'ctl') return await endedWith(await runAtTerminal(config, rest, stopOfFile));
    if (part === 'migrate' && rest.length === 0) {
      assertProduction(config, part);
      const { migrateAll } = await import('#startup/migrate');
      return await endedWith(await migrateAll(config));
    }
    if (!isPart(part) || rest.length > 0) {
      STANDARD_ERROR.write(USAGE);
      return 2;
    }
    report = refusalReporter(config, part);
    assertUsable(config, part);
    const logger = createLogger(config.SERVICE_LOG_LEVEL, logOrigin(config, part));
    endOnUncaught(logger);
    beginLog(logger, config);
    const open = await PARTS[part](config);
    const code = await live((signal) => open(config, signal), stop, report, config);
    // Exit, because a failed start may leave something open, for example a driver's socket.
    if (code !== 0) process.exit(code);
    return code;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    report(`configuration: ${error.message}`);
    return 1;
  }
}

/**
 * Runs `ctl` on the terminal of this process. `stopOfFile` returns a file command's stop signal.
 */
async function runAtTerminal(
  config: Config,
  argv: readonly string[],
  stopOfFile: () => AbortSignal,
): Promise<number> {
  const { runCtl } = await import('#ctl/ctl');
  const { endWithoutReader, terminalQuestion, writeOut } = await import(
    '#startup/process/terminal'
  );
  endWithoutReader();
  // Some commands wait for a timer or a file thread, which do not keep a process alive.
  const staying = setInterval(() => undefined, STAYING_MS);
  try {
    return await runCtl(argv, {
      clock: systemClock,
      out: (text) => void process.stdout.write(`${text}\n`),
      err: (text) => void process.stderr.write(`${text}\n`),
      write: writeOut,
      ask: terminalQuestion(),
      adminUrl: config.SERVICE_ADMIN_URL,
      adminTokenFile: config.SERVICE_ADMIN_TOKEN_FILE,
      async openCluster() {
        const { openCtlCluster } = await import('#startup/ctl-ports');
        return await openCtlCluster(config);
      },
      async openFile() {
        const { openCtlFile } = await import('#startup/ctl-ports');
        return await openCtlFile(config, stopOfFile());
      },
      async openPlaces() {
        const { storePlaces } = await import('#startup/stores/places');
        return storePlaces(config);
      },
    });
  } finally {
    clearInterval(staying);
  }
}

/** Exits after all output is written, even if a driver has left a socket open. */
async function endedWith(code: number): Promise<never> {
  const { writtenOut } = await import('#startup/process/terminal');
  await writtenOut();
  process.exit(code);
}

/**
 * Throws `ConfigError` for settings that lose this role's data or, in production, are unsafe.
 */
function assertUsable(config: Config, part: keyof typeof PARTS): void {
  // Edges and couriers store no data.
  if (part !== 'edge' && part !== 'courier') assertStorageNamed(config);
  assertProduction(config, part);
}

function isPart(name: string): name is keyof typeof PARTS {
  return Object.hasOwn(PARTS, name);
}
