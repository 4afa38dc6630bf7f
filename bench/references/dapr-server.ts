import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child, environment } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { goProgram } from '#deploy/local/install/go-program';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Newest version that the Go module proxy serves. */
const VERSION = 'v1.14.0';

const MODULE = 'github.com/dapr/dapr';

/** Maximum time of a build step in ms. The first build fetches and compiles all imports. */
const BUILD_MS_MAX = 1_200_000;

/** Source of a sidecar with Redis as its only component. */
const SIDECAR = 'bench/references/dapr-sidecar.go';

/** State store of the actors. */
const component = (redisAddress: string) => `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: statestore
spec:
  type: state.redis
  version: v1
  metadata:
  - name: redisHost
    value: "${redisAddress}"
  - name: actorStateStore
    value: "true"
`;

/** Settings of the sidecar: allows answers with a lifetime, and traces no calls. */
const CONFIGURATION = `apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata:
  name: reference
spec:
  features:
  - name: ActorStateTTL
    enabled: true
  tracing:
    samplingRate: "0"
`;

/** Dapr's sidecar and placement service. */
export type Dapr = AsyncDisposable & {
  /** Address of the sidecar. */
  readonly address: string;
  readonly processes: readonly Child[];
};

/** Starts Dapr for the application at `appPort`; Go builds Dapr once. Throws `MissingServer`. */
export async function startDapr(
  { redisAddress, appPort }: { readonly redisAddress: string; readonly appPort: number },
  print: Print,
): Promise<Dapr> {
  const programs = await installedDapr(print);
  const folder = temporaryFolder();
  const resources = join(folder, 'components');
  await mkdir(resources);
  await writeFile(join(resources, 'statestore.yaml'), component(redisAddress));
  const configuration = join(folder, 'configuration.yaml');
  await writeFile(configuration, CONFIGURATION);
  const ports = await freePorts(7);
  const [http, grpc, internal, metrics, placement, raft, placed] = ports;
  await using opening = new AsyncDisposableStack();
  const start = (name: string, args: readonly string[]) =>
    opening.use(new Child({ name, program: join(programs, name), args, env: environment() }));
  const quiet = ['--log-level', 'error', '--enable-metrics=false'];
  const placing = start('placement', [
    ...quiet,
    ...['--port', `${placement}`, '--listen-address', '127.0.0.1'],
    ...['--healthz-port', `${placed}`, '--healthz-listen-address', '127.0.0.1'],
    ...['--id', 'reference', '--initial-cluster', `reference=127.0.0.1:${raft}`],
  ]);
  const sidecar = start('daprd', [
    ...quiet,
    ...['--app-id', 'reference', '--app-port', `${appPort}`, '--app-protocol', 'http'],
    ...['--dapr-http-port', `${http}`, '--dapr-grpc-port', `${grpc}`],
    ...['--dapr-internal-grpc-port', `${internal}`, '--dapr-listen-addresses', '127.0.0.1'],
    ...['--metrics-port', `${metrics}`, '--config', configuration],
    ...['--placement-host-address', `127.0.0.1:${placement}`, '--resources-path', resources],
  ]);
  const opened = opening.move();
  return {
    address: `http://127.0.0.1:${http}`,
    processes: [sidecar, placing],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Folder of the programs. */
async function installedDapr(print: Print): Promise<string> {
  const folder = await installOnce(`dapr-${VERSION}-go`, async (target) => {
    const program = await goProgram(`(dapr) ${VERSION}`, print);
    await mkdir(join(target, 'sidecar'));
    await cp(SIDECAR, join(target, 'sidecar/main.go'));
    await writeFile(join(target, 'go.mod'), 'module built\n');
    const packages = ['daprd', 'placement'].map((name) => `${MODULE}/cmd/${name}@${VERSION}`);
    const go = async (...args: readonly string[]) => {
      const run = () => runProgram({ program, args, folder: target, msMax: BUILD_MS_MAX });
      const { isOk, output } = await withProgress(print, `dapr: go ${args[0]} ${VERSION}`, run);
      if (!isOk) throw new MissingServer(`(dapr) could not be built: ${lastLine(output)}`);
    };
    await go('get', ...packages);
    await go('build', '-mod=mod', '-o', 'daprd', './sidecar');
    await go('build', '-mod=mod', '-o', 'placement', `${MODULE}/cmd/placement`);
  });
  return folder;
}
