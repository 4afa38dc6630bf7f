import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#deploy/local/free-port';
import { type LocalServer, startServer } from '#deploy/local/local-server';
import { programPath } from '#deploy/local/program-path';
import { configText } from '#test/deploy/compose-file';

/** Where an edge listens: for callers, and for probes. */
export type EdgePorts = { readonly port: number; readonly operatorsPort: number };

const READY_MS_MAX = 20_000;

/** HAProxy, if this machine has it; root's programs need not be on the path. */
export function haproxyPath(): string | undefined {
  return programPath('haproxy') ?? programPath('../sbin/haproxy');
}

/** The balancer of `compose.yaml` in front of these two edges of this machine, as it is configured there. */
export async function startComposeBalancer(
  program: string,
  edges: readonly [EdgePorts, EdgePorts],
): Promise<AsyncDisposable & { readonly port: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-compose-'));
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration(port, edges));
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

/** The committed configuration; only where it listens and where the edges are is this machine's. */
function configuration(port: number, edges: readonly [EdgePorts, EdgePorts]): string {
  const replace = (text: string, from: string, to: string): string => {
    if (!text.includes(from)) throw new Error(`the balancer's configuration has no "${from}"`);
    return text.replace(from, to);
  };
  let text = configText('balancer');
  text = replace(text, 'bind :8000', `bind 127.0.0.1:${port}`);
  text = replace(text, ' resolvers docker init-addr last,libc,none', '');
  for (const [index, edge] of edges.entries()) {
    const name = `edge${index + 1}`;
    const here = `${name} 127.0.0.1:${edge.port} port ${edge.operatorsPort}`;
    text = replace(text, `${name} ${name}:8000`, here);
  }
  return text;
}
