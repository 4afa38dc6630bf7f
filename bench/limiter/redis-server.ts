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

/** Parameters of `startRedis`. */
type RedisOptions = {
  /**
   * When Redis syncs its append-only file: before each answer, or every second, the strictest
   * setting that is common for limiters.
   */
  readonly sync: 'always' | 'everysec';
  /** Folder of the append-only file, kept between starts. Default: a fresh folder. */
  readonly folder?: string;
};

/** Starts the Redis `program` on loopback. */
export async function startRedis(
  program: string,
  { sync, folder = temporaryFolder() }: RedisOptions,
): Promise<Redis> {
  const [port = 0] = await freePorts(1);
  const settings = {
    bind: '127.0.0.1',
    port: `${port}`,
    dir: folder,
    appendonly: 'yes',
    appendfsync: sync,
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
