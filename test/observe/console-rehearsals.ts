import { randomUUID } from 'node:crypto';
import type { LightLoad } from '#test/observe/light-load';
import { paused, type Rehearsal } from '#test/observe/rehearsal';
import type { WatchedCluster } from '#test/observe/watched-cluster';

/** The alerts about the consoles. */
export const CONSOLE_REHEARSALS: readonly Rehearsal[] = [
  {
    alerts: ['NoConsole'],
    fault: 'all consoles are paused',
    provoke: async (cluster) => paused(cluster, cluster.namesOf('console')),
  },
  {
    alerts: ['SignInsRefused'],
    fault: 'someone tries a password at the console, and another, and another',
    provoke: guessPasswords,
  },
];

/** The alert about the audit trail, in which Cassandra is away. */
export const AUDIT_REHEARSAL: Rehearsal = {
  alerts: ['AuditUnavailable'],
  fault: 'Cassandra is paused while instances are created',
  provoke: createWithoutStore,
};

/** How often a guesser tries, in milliseconds: a hundred tries in ten seconds, and on. */
const GUESS_EVERY_MS = 100;

/** How long a console may take to refuse a password, in milliseconds. */
const GUESS_MS_MAX = 5_000;

async function guessPasswords({ plan }: WatchedCluster): Promise<() => Promise<void>> {
  const { consoleAddress: origin } = plan;
  const guess = () =>
    fetch(`${origin}/api/sign-in`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'someone@example.com', password: `guess ${randomUUID()}` }),
      signal: AbortSignal.timeout(GUESS_MS_MAX),
    }).then(
      (answer) => answer.arrayBuffer(),
      () => undefined,
    );
  const timer = setInterval(() => void guess(), GUESS_EVERY_MS);
  return async () => clearInterval(timer);
}

/** Creates wait for their line in the audit trail, which waits for Cassandra. */
async function createWithoutStore(
  cluster: WatchedCluster,
  load: LightLoad,
): Promise<() => Promise<void>> {
  const resume = paused(cluster, cluster.namesOf('cassandra'));
  const timer = setInterval(() => void load.call('POST', '/instances', { name: 'late' }), 1_000);
  return async () => {
    clearInterval(timer);
    await resume();
  };
}
