import { ObservationPlan } from '#bench/load/observation-plan';
import { Child, environment } from '#bench/processes/child';
import { freePorts } from '#bench/processes/free-ports';
import { untilReady } from '#bench/processes/readiness';
import type { Server } from '#bench/processes/servers';
import type { Postgres } from '#bench/references/postgres-server';
import { PERSONA_PROFILES } from '#identity/persona-profiles';

/** Write strategies of the references. */
const WAYS = {
  pg: 'transaction',
  cas: 'compare-and-set',
  pg50: 'transaction',
  cas50: 'compare-and-set',
} as const;

/** Label of a reference on PostgreSQL. */
export type PostgresLabel = keyof typeof WAYS;

/** API key of the reference, which looks up the digest of the key. */
const KEY = `svc_sk_${'0'.repeat(50)}`;

/** Starts a reference on PostgreSQL with its own database and instances. */
export async function startPostgresReference(
  label: PostgresLabel,
  postgres: Postgres,
  options: { readonly folder: string; readonly instanceCount: number },
): Promise<Server & AsyncDisposable> {
  const { folder, instanceCount } = options;
  await using opening = new AsyncDisposableStack();
  const [port = 0] = await freePorts(1);
  const url = await postgres.database(label);
  const child = opening.use(
    new Child({
      name: 'fastify',
      program: process.execPath,
      args: ['bench/references/postgres.ts', WAYS[label], `${port}`, url, KEY, `${instanceCount}`],
      env: environment(),
    }),
  );
  const address = `http://127.0.0.1:${port}`;
  await untilReady(child, `${address}/metrics`);
  // The same instances as in postgres.ts.
  const instances = Array.from({ length: instanceCount }, (_, i) => ({
    id: `inst_${i.toString(16).padStart(16, '0')}`,
    modeStrengths: PERSONA_PROFILES[i % PERSONA_PROFILES.length]?.strengths ?? [],
  }));
  const plan = await ObservationPlan.write({ instances, key: KEY, folder, name: label });
  const opened = opening.move();
  const processes = [child, { name: 'postgres', pid: postgres.process.pid }];
  return {
    label,
    address,
    processes,
    plan,
    service: { metricsUrls: [address] },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
