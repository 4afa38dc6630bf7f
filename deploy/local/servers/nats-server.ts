import { installedNats } from '#deploy/local/install/nats';
import { type Print, printNothing } from '#deploy/local/progress';
import { assertPortFree, freePort } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerPlace,
  startServer,
} from '#deploy/local/servers/local-server';
import { natsVersionAt } from '#deploy/local/servers/nats-answer';

/** Maximum start time, in ms. A start takes about 20 ms on an idle machine. */
const READY_MS_MAX = 20_000;

/** Folder and options of a NATS server. */
export type NatsOptions = ServerPlace & {
  /** Client port. Default: a free port. */
  readonly port?: number;
  /** File with further settings, for tests that need users or encryption. */
  readonly configFile?: string;
  readonly print?: Print;
};

/**
 * Starts a NATS server (core subjects only) on loopback; fetches a missing NATS first. Resolves
 * when the server answers. Throws `MissingServer` if NATS is not available.
 */
export async function startNats(options: NatsOptions): Promise<LocalServer> {
  if (options.port !== undefined) await assertPortFree(options.port, 'NATS');
  const program = await installedNats(options.print ?? printNothing);
  const port = options.port ?? (await freePort());
  const address = `nats://127.0.0.1:${port}`;
  const further = options.configFile === undefined ? [] : ['--config', options.configFile];
  return startServer(options, {
    name: 'nats',
    program,
    args: ['--addr', '127.0.0.1', '--port', `${port}`, ...further],
    address,
    readyMsMax: READY_MS_MAX,
    ask: () => natsVersionAt(address),
  });
}
