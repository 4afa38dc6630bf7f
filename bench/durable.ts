import type { CapturedAnswer } from '#bench/capture-answer';
import { captureAnswer } from '#bench/capture-answer';
import type { Round } from '#bench/closed-rounds';
import { runDurableRounds } from '#bench/durable-rounds';
import { startDurable } from '#bench/durable-service';
import { checkLedger } from '#bench/ledger';
import { DURABLE_INSTANCES } from '#bench/observation-plan';
import type { Options, Part } from '#bench/options';
import { startPostgresReference } from '#bench/postgres-reference';
import { type PostgresTools, startPostgres } from '#bench/postgres-server';
import { prepareService, type Server, startReference } from '#bench/servers';
import { startStandalone } from '#bench/service';
import { temporaryFolder } from '#bench/temporary-folder';

/** Parts that belong to the durable comparison; (c) is measured with them once more. */
const DURABLE_PARTS: readonly Part[] = ['d', 'pg', 'cas'];

/** Whether a run has a durable comparison at all. */
export function isDurableWanted({ parts }: Options): boolean {
  return DURABLE_PARTS.some((part) => parts.has(part));
}

/**
 * Starts the service on Cassandra and its references on PostgreSQL, as far as they are wanted, loads
 * them in turns, and checks at the end that what each has stored is what it answered.
 */
export async function measureDurable(
  tools: { readonly wrk: string; readonly postgres: PostgresTools | undefined },
  options: Options,
  print: (line: string) => void,
): Promise<Round[]> {
  const { parts, engines } = options;
  if (!isDurableWanted(options)) return [];
  await using opened = new AsyncDisposableStack();
  const folder = temporaryFolder();
  const instanceCount = DURABLE_INSTANCES;
  const servers: Server[] = [];
  if (parts.has('d')) {
    print('starting Cassandra, NATS and the service');
    const service = opened.use(await startDurable({ engines, folder: temporaryFolder(), print }));
    servers.push(await prepareService('d', service, folder, instanceCount));
  }
  if (tools.postgres !== undefined) {
    print('starting PostgreSQL and its references');
    const postgres = opened.use(await startPostgres(tools.postgres));
    for (const label of ['pg', 'cas'] as const) {
      if (!parts.has(label)) continue;
      const options = { folder, instanceCount };
      servers.push(opened.use(await startPostgresReference(label, postgres, options)));
    }
  }
  if (parts.has('c')) {
    const { file: answerFile } = await answerOfStandalone(folder);
    servers.push(opened.use(await startReference('c', { folder, answerFile }, instanceCount)));
  }
  const rounds = await runDurableRounds(tools.wrk, { servers, options, print });
  for (const server of servers) await checkLedger(server);
  return rounds;
}

/** What reference (c) answers: it has no model of its own. */
async function answerOfStandalone(folder: string): Promise<CapturedAnswer> {
  await using service = await startStandalone();
  return await captureAnswer(await prepareService('s', service, folder, 1), folder);
}
