import { setImmediate as nextTurn } from 'node:timers/promises';
import { ConfigError, readConfig } from '#config';
import { STANDARD_ERROR } from '#platform/line-stream';
import { createLogger } from '#platform/logger';
import { logOrigin } from '#process/node-name';
import { endOnUncaught, live } from '#process/process-life';
import { assertProduction } from '#process/production';
import { logStart, logWarnings, printRefusal, refusalReporter } from '#process/start-log';
import { exitCodeOf } from '#process/stop-signals';

/** What the one executable can be; each part is loaded only when it is asked for. */
const PARTS = {
  standalone: async () => (await import('#process/standalone')).openStandalone,
  edge: async () => (await import('#process/edge-part')).openEdge,
  engine: async () => (await import('#process/engine-part')).openEngine,
  limiter: async () => (await import('#process/limiter-part')).openLimiter,
  console: async () => (await import('#process/console-part')).openConsole,
} as const;

const USAGE = `usage: main.ts ${Object.keys(PARTS).join('|')}
       main.ts migrate
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
  try {
    const config = readConfig();
    if (part === 'ctl' || part === 'migrate') {
      if (stop.aborted) end();
      stop.addEventListener('abort', end);
    }
    if (part === 'ctl') {
      const { runCtl } = await import('#ctl/ctl');
      const out = (text: string) => void process.stdout.write(`${text}\n`);
      const err = (text: string) => void process.stderr.write(`${text}\n`);
      const openCluster = async () => {
        const { openCtlCluster } = await import('#process/ctl-cluster');
        return await openCtlCluster(config);
      };
      const openFile = async () => {
        const { openCtlFile } = await import('#process/ctl-file');
        // A command of a file removes what it has not finished, and ends then.
        stop.removeEventListener('abort', end);
        return await openCtlFile(config, stop);
      };
      const openPlaces = async () => (await import('#process/store-places')).storePlaces(config);
      const { SERVICE_ADMIN_URL: adminUrl, SERVICE_ADMIN_TOKEN_FILE: adminTokenFile } = config;
      const { terminalQuestion, writeOut: write } = await import('#process/terminal');
      const ask = terminalQuestion();
      const opens = { openCluster, openFile, openPlaces };
      return await runCtl(rest, { out, err, write, ask, adminUrl, adminTokenFile, ...opens });
    }
    if (part === 'migrate' && rest.length === 0) {
      assertProduction(config, part);
      const { migrateAll } = await import('#process/migrate');
      return await migrateAll(config);
    }
    if (!isPart(part) || rest.length > 0) {
      STANDARD_ERROR.write(USAGE);
      return 2;
    }
    report = refusalReporter(config, part);
    assertProduction(config, part);
    const logger = createLogger(config.SERVICE_LOG_LEVEL, logOrigin(config, part));
    endOnUncaught(logger);
    logWarnings(logger);
    logStart(logger, config);
    const open = await PARTS[part]();
    const code = await live((signal) => open(config, signal), stop, report);
    // What a failed start has left open, a driver's socket say, must not keep the process.
    if (code !== 0) process.exit(code);
    return code;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    report(`configuration: ${error.message}`);
    return 1;
  }
}

function isPart(name: string): name is keyof typeof PARTS {
  return Object.hasOwn(PARTS, name);
}
