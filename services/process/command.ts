import { setImmediate as nextTurn } from 'node:timers/promises';
import { assertStorageNamed, type Config, ConfigError, readConfig } from '#config';
import { systemClock } from '#platform/clock';
import { createLogger, STANDARD_ERROR, STANDARD_OUTPUT } from '#platform/logger';
import { releaseOf } from '#platform/release';
import { beginLog, printRefusal, refusalReporter } from '#process/foundation';
import { endOnUncaught, exitCodeOf, live } from '#process/life';
import { logOrigin } from '#process/node-name';
import { assertProduction } from '#process/production';

/** What the one executable can be; each part is loaded only when it is asked for. */
const PARTS = {
  standalone: async () => (await import('#process/standalone')).openStandalone,
  edge: async () => (await import('#process/edge')).openEdge,
  engine: async () => (await import('#process/engine')).openEngine,
  limiter: async () => (await import('#process/limiter')).openLimiter,
  console: async () => (await import('#process/console')).openConsole,
} as const;

/** Between two events that only keep `ctl` running, in milliseconds. Any long time. */
const STAYING_MS = 60_000;

const USAGE = `usage: main.ts ${Object.keys(PARTS).join('|')}
       main.ts migrate
       main.ts --version
       main.ts ctl --help
`;

/**
 * Runs what the arguments of the executable name; fulfils with its exit code. `stop` asks it to end in
 * good order.
 */
export async function runCommand(
  part: string,
  rest: readonly string[],
  stop: AbortSignal,
): Promise<number> {
  const end = () => process.exit(exitCodeOf(stop));
  let report = printRefusal;
  // A signal that has arrived while modules were loaded is delivered by the event loop.
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
    // A command of a file removes what it has not finished, and ends then.
    const stopOfFile = () => {
      stop.removeEventListener('abort', end);
      return stop;
    };
    if (part === 'ctl') return await endedWith(await runAtTerminal(config, rest, stopOfFile));
    if (part === 'migrate' && rest.length === 0) {
      assertProduction(config, part);
      const { migrateAll } = await import('#process/migrate');
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
    const open = await PARTS[part]();
    const code = await live((signal) => open(config, signal), stop, report, config);
    // What a failed start has left open, a driver's socket say, must not keep the process.
    if (code !== 0) process.exit(code);
    return code;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    report(`configuration: ${error.message}`);
    return 1;
  }
}

/** Runs `ctl` at the terminal of this process; `stopOfFile` is the stop signal of a command of a file. */
async function runAtTerminal(
  config: Config,
  argv: readonly string[],
  stopOfFile: () => AbortSignal,
): Promise<number> {
  const { runCtl } = await import('#ctl/ctl');
  const { endWithoutReader, terminalQuestion, writeOut } = await import('#process/terminal');
  endWithoutReader();
  // A command may wait for what keeps no process alive: a timer, or the thread of a file.
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
        const { openCtlCluster } = await import('#process/ctl-ports');
        return await openCtlCluster(config);
      },
      async openFile() {
        const { openCtlFile } = await import('#process/ctl-ports');
        return await openCtlFile(config, stopOfFile());
      },
      async openPlaces() {
        const { storePlaces } = await import('#process/store-places');
        return storePlaces(config);
      },
    });
  } finally {
    clearInterval(staying);
  }
}

/** Ends this process once its output is written, whatever a driver has left open. */
async function endedWith(code: number): Promise<never> {
  const { writtenOut } = await import('#process/terminal');
  await writtenOut();
  process.exit(code);
}

/** Throws `ConfigError` for settings with which this part loses data or, in production, is unsafe. */
function assertUsable(config: Config, part: keyof typeof PARTS): void {
  // An edge keeps no data.
  if (part !== 'edge') assertStorageNamed(config);
  assertProduction(config, part);
}

function isPart(name: string): name is keyof typeof PARTS {
  return Object.hasOwn(PARTS, name);
}
