import { Child, environment } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilAnswered } from '#bench/processes/readiness';
import { temporaryFolder } from '#bench/processes/temporary-folder';

/** Log line of Redis when it accepts connections. */
const READY = /Ready to accept connections/;

/** A Redis server that this run started. */
export type Redis = AsyncDisposable & {
  /** `host:port`. */
  readonly address: string;
  readonly process: Child;
};

/**
 * Starts the Redis `program` on loopback with a fresh folder. Redis syncs its append-only file
 * every second, the strictest setting that is common for limiters.
 */
export async function startRedis(program: string): Promise<Redis> {
  const [port = 0] = await freePorts(1);
  const settings = {
    bind: '127.0.0.1',
    port: `${port}`,
    dir: temporaryFolder(),
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  await using opening = new AsyncDisposableStack();
  const child = opening.use(new Child({ name: 'redis', program, args, env: environment() }));
  await untilAnswered(child, async () => READY.test(child.output) || undefined);
  const opened = opening.move();
  return {
    address: `127.0.0.1:${port}`,
    process: child,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
