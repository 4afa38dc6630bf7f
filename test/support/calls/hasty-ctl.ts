import { readConfig } from '#config';
import { runCtl } from '#ctl/ctl';
import { openCtlCluster, openCtlFile } from '#startup/ctl-ports';
import { listenForStop } from '#startup/process/stop-signals';
import { writeOut } from '#startup/process/terminal';
import { storePlaces } from '#startup/stores/places';
import { systemClock } from '#stdlib/clock';

/*
 * Runs `main.ts ctl` with waits limited to `WAIT_MS_MAX`. A file of its own, because tests run it
 * as a process.
 */

/** Maximum wait in milliseconds. Announcements arrive earlier. */
const WAIT_MS_MAX = 3_000;

const config = readConfig();
setInterval(() => undefined, 60_000);
process.exit(
  await runCtl(process.argv.slice(2), {
    clock: systemClock,
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    write: writeOut,
    ask: undefined,
    adminUrl: config.SERVICE_ADMIN_URL,
    adminTokenFile: config.SERVICE_ADMIN_TOKEN_FILE,
    openFile: () => openCtlFile(config, listenForStop()),
    async openCluster() {
      const cluster = await openCtlCluster(config);
      const { after } = systemClock;
      const clock: typeof systemClock = {
        ...systemClock,
        after: (delayMs, task) => after(Math.min(delayMs, WAIT_MS_MAX), task),
      };
      return { ...cluster, clock };
    },
    openPlaces: async () => storePlaces(config),
  }),
);
