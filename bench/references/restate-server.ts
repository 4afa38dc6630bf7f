import { join } from 'node:path';
import { Child, environment } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilReady } from '#bench/processes/readiness';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

const VERSION = '1.7.12';

/** Package with the server for this machine, under the Business Source License. */
const PACKAGE = `@restatedev/restate-server-${process.platform}-${process.arch}`;

/** Maximum download time in milliseconds, for 226 MB from a registry. */
const FETCH_MS_MAX = 600_000;

/**
 * Number of partitions. The default is 24. Fewer partitions share a commit among more observations.
 */
const PARTITIONS = '4';

/** A Restate server that this run started. Restate flushes its log to disk before an answer. */
export type Restate = AsyncDisposable & {
  /** Address for calls of handlers. */
  readonly ingress: string;
  /** Address for registrations and queries. */
  readonly admin: string;
  readonly process: Child;
};

/** Starts Restate on loopback; npm fetches the server once. Throws `MissingServer`. */
export async function startRestate(print: Print, folder = temporaryFolder()): Promise<Restate> {
  const program = await installedRestate(print);
  const [ingress = 0, admin = 0, node = 0] = await freePorts(3);
  const addressOf = (port: number) => `127.0.0.1:${port}`;
  await using opening = new AsyncDisposableStack();
  const variables = {
    RESTATE_BASE_DIR: folder,
    RESTATE_NODE_NAME: 'reference',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: addressOf(node),
    RESTATE_ADVERTISED_ADDRESS: `http://${addressOf(node)}`,
    RESTATE_INGRESS__BIND_ADDRESS: addressOf(ingress),
    RESTATE_ADMIN__BIND_ADDRESS: addressOf(admin),
    RESTATE_DEFAULT_NUM_PARTITIONS: PARTITIONS,
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'warn',
  };
  const child = opening.use(
    new Child({ name: 'restate', program, args: [], env: environment(variables) }),
  );
  const urls = { ingress: `http://${addressOf(ingress)}`, admin: `http://${addressOf(admin)}` };
  await untilReady(child, `${urls.admin}/health`);
  await untilReady(child, `${urls.ingress}/restate/health`);
  const opened = opening.move();
  return { ...urls, process: child, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function installedRestate(print: Print): Promise<string> {
  const folder = await installOnce(`restate-${VERSION}-npm`, async (target) => {
    const npm = programPath('npm');
    if (npm === undefined) throw new MissingServer('(restate) needs npm');
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts'];
    const args = ['install', ...quiet, '--prefix', target, `${PACKAGE}@${VERSION}`];
    const fetch = () => runProgram({ program: npm, args, msMax: FETCH_MS_MAX });
    const what = `restate: fetching ${VERSION} by npm (226 MB)`;
    const { isOk, output } = await withProgress(print, what, fetch);
    if (!isOk) throw new MissingServer(`npm: ${lastLine(output)}`);
  });
  return join(folder, 'node_modules', PACKAGE, 'bin', 'restate-server');
}
