import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#deploy/local/servers/free-port';
import { type LocalServer, startServer } from '#deploy/local/servers/local-server';

/** Ports of a process, for callers and for probes. */
export type EdgePorts = { readonly port: number; readonly operatorsPort: number };

const READY_MS_MAX = 20_000;

/** Backends of the balancer on this machine, and its console port (default: a free port). */
type Scene = {
  readonly edges: readonly [EdgePorts, EdgePorts];
  readonly consoles?: readonly [EdgePorts, EdgePorts];
  readonly consolePort?: number;
};

/** Starts HAProxy with the shipped configuration in front of processes on this machine. */
export async function startHaproxy(
  program: string,
  { edges, consoles = edges, ...given }: Scene,
): Promise<AsyncDisposable & { readonly port: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-haproxy-'));
  const port = await freePort();
  const consolePort = given.consolePort ?? (await freePort());
  const file = join(folder, 'haproxy.cfg');
  const entrances = [
    { bound: 8_000, port, name: 'edge', targets: edges },
    { bound: 8_002, port: consolePort, name: 'console', targets: consoles },
  ];
  writeFileSync(file, entrances.reduce(moved, readFileSync('deploy/haproxy.cfg', 'utf8')));
  const server: LocalServer = await startServer(
    { folder, logFolder: folder },
    {
      name: 'haproxy',
      program,
      args: ['-db', '-f', file],
      address: `127.0.0.1:${port}`,
      readyMsMax: READY_MS_MAX,
      ask: () => fetch(`http://127.0.0.1:${port}/`).then((response) => response.arrayBuffer()),
    },
  );
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A frontend of the committed configuration, and its backends. */
type Entrance = {
  /** Port of the frontend and of its backends in the configuration. */
  readonly bound: number;
  readonly port: number;
  readonly name: string;
  readonly targets: readonly EdgePorts[];
};

/** Replaces the listening ports and backends in the configuration by local ports. */
function moved(committed: string, { bound, port, name, targets }: Entrance): string {
  let text = committed;
  const replace = (from: string, to: string): void => {
    if (!text.includes(from)) throw new Error(`the balancer's configuration has no "${from}"`);
    text = text.replace(from, to);
  };
  replace(`bind :${bound}`, `bind 127.0.0.1:${port}`);
  for (const [index, target] of targets.entries()) {
    const named = `${name}${index + 1}`;
    const here = `${named} 127.0.0.1:${target.port} port ${target.operatorsPort}`;
    replace(`${named} ${named}:${bound}`, here);
  }
  return text;
}
