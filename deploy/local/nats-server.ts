import { assertPortFree, freePort } from '#deploy/local/free-port';
import { type LocalServer, type ServerPlace, startServer } from '#deploy/local/local-server';
import { natsVersionAt } from '#deploy/local/nats-answer';
import { installedNats } from '#deploy/local/nats-install';
import { type Print, printNothing } from '#deploy/local/progress';

/** Starting takes some 20 ms; the rest is a busy machine. */
const READY_MS_MAX = 20_000;

/** Where a NATS server runs, and what differs from the usual. */
export type NatsOptions = ServerPlace & {
  /** A free one unless named. */
  readonly port?: number;
  /** A file of further settings: for a test that wants users or encryption. */
  readonly configFile?: string;
  readonly print?: Print;
};

/**
 * Starts a NATS server on loopback, core subjects only, fetched first if need be; fulfils when it
 * answers. Throws `MissingServer` when there is none to be had.
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
