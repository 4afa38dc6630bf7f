import { randomUUID } from 'node:crypto';
import { paused, type Rehearsal } from '#test/observe/rehearsal';
import type { WatchedCluster } from '#test/observe/watched-cluster';

/* Separate from the rehearsals of other services, because the consoles are optional. */

/** Rehearsals of alerts about consoles. */
export const CONSOLE_REHEARSALS: readonly Rehearsal[] = [
  {
    alerts: ['NoConsole'],
    fault: 'all consoles are paused',
    provoke: async (cluster) => paused(cluster, cluster.namesOf('console')),
  },
  {
    alerts: ['SignInsRefused'],
    fault: 'ten wrong passwords per second are tried at the console',
    provoke: guessPasswords,
  },
];

/** Interval between wrong passwords, in milliseconds. */
const GUESS_EVERY_MS = 100;

/** Timeout of a sign-in request, in milliseconds. */
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
