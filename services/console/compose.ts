import type { AddressInfo } from 'node:net';
import { buildConsole } from '#console/app';
import { readBuiltPages } from '#console/built-pages';
import type { ConsoleConfig, ConsolePorts } from '#console/console-ports';
import { loopbackOrigins } from '#console/own-origin';
import type { Running } from '#platform/run';

/** Where a console listens. Port 0 takes a free one. */
export type ConsoleListen = { readonly host: string; readonly port: number };

/** A listening console. */
type RunningConsole = Running & {
  /** Where people reach it: the public origin, or a loopback address. */
  readonly origin: string;
};

/** Opens a console. One without a public origin is reached on this machine alone. */
export async function composeConsole(
  listen: ConsoleListen,
  config: ConsoleConfig,
  ports: ConsolePorts,
): Promise<RunningConsole> {
  await using opening = new AsyncDisposableStack();
  const { app, reachedAt } = buildConsole(config, ports, await readBuiltPages('console'));
  opening.defer(() => app.close());
  const address = await app.listen({ ...listen });
  const { port } = app.server.address() as AddressInfo;
  const origins =
    config.origin === undefined ? loopbackOrigins(listen.host, port) : [config.origin];
  reachedAt(origins);
  const opened = opening.move();
  const origin = origins[0] ?? address;
  return { address, origin, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
