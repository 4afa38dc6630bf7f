import { accountAt } from '#accounts/plan-change';
import type { Start } from '#console/answers';
import type { ConsolePorts } from '#console/app/ports';
import { type ConsoleRoute, callerRoute } from '#console/app/route';
import { shown } from '#console/app/visit';
import { isDemo } from '#console/demo/marks';
import type { LiveSessions } from '#console/people/live-sessions';
import { KeptResults } from '#console/usage/kept-results';
import { EngineReads } from '#edge/serve/engine-reads';
import { Fault, toFault } from '#errors/fault';

/** Time limit of all reads, in milliseconds. Shorter than the timeout of the pages. */
const READS_MS_MAX = 5_000;

/**
 * Maximum number of instances whose history is read. The listing shows the cycles of most instances,
 * but can be old by one checkpoint (architecture 3.6).
 */
const INSPECTED_MAX = 3;

/**
 * Answers are kept for four seconds: open pages ask every five seconds, and all pages of an account
 * together cost the engine one answer.
 */
const KEEPING = { atOnce: 16, waitingMax: 16, keptMax: 256, keptMs: 4_000 };

/** `User-Agent` of the client libraries, the MCP server and the adapters for agents. */
const CLIENT_LIBRARY = /^identity-engine-/;

/** Ports of the first steps. */
type StartPorts = Pick<ConsolePorts, 'engine' | 'clock' | 'accounts' | 'keys'>;

/** Route for the overview: number of instances, and first steps of the account. */
export function startRoutes(ports: StartPorts & { readonly live: LiveSessions }): ConsoleRoute[] {
  const start = { method: 'GET', path: '/start', permission: 'instances.read' } as const;
  const results = new KeptResults<Start>(ports.clock, KEEPING);
  return [
    callerRoute(ports.live, start, async ({ caller: { membership } }) => {
      const { accountId } = membership;
      return shown(await results.of(accountId, () => startOf(ports, accountId)));
    }),
  ];
}

/**
 * Number of instances, and the first steps that the account has taken. Every step is derived from
 * present data: keys and their last use, instances and their observations, webhook endpoints. The
 * account is not charged. Throws the faults of engine and stores.
 */
async function startOf(ports: StartPorts, accountId: string): Promise<Start> {
  const { accounts, keys, clock } = ports;
  const reads = new EngineReads(ports, accountId, READS_MS_MAX);
  const [found, used, { rows, total }, webhooks] = await Promise.all([
    accounts.find(accountId),
    keys.listKeys(accountId),
    reads.listTagged(0),
    reads.webhookCount(),
  ]);
  if (found === undefined) throw new Fault('not_found', 'the account does not exist');
  const own = rows.filter(({ tags }) => !isDemo(tags));
  const { instances } = accountAt(found.account, clock.wallMs()).limits;
  const uses = used.flatMap(({ lastUse }) => lastUse ?? []);
  return {
    instances: { count: total, max: instances },
    steps: {
      key: used.length > 0,
      call: uses.length > 0,
      instance: own.length > 0 || total > rows.length,
      observation: await hasObservation(reads, own),
      connection: webhooks > 0 || uses.some(({ client }) => CLIENT_LIBRARY.test(client ?? '')),
    },
  };
}

async function hasObservation(
  reads: EngineReads,
  instances: readonly { readonly id: string; readonly cycles: number }[],
): Promise<boolean> {
  if (instances.some(({ cycles }) => cycles > 0)) return true;
  for (const { id } of instances.slice(0, INSPECTED_MAX)) {
    if ((await newestOf(reads, id)) !== undefined) return true;
  }
  return false;
}

/** Newest observation. Undefined if there is none, or if the instance was deleted meanwhile. */
async function newestOf(reads: EngineReads, id: string) {
  try {
    return await reads.observation(id, 0);
  } catch (error) {
    if (toFault(error).code === 'not_found') return undefined;
    throw error;
  }
}
