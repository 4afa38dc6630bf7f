import { readFile } from 'node:fs/promises';
import { createClient } from '@redis/client';
import type { Decide } from '#bench/limiter/load';
import { CYCLES_PER_MONTH, REQUESTS_PER_MINUTE } from '#bench/processes/service';

const SCRIPT = 'bench/limiter/fixed-window.lua';

const MINUTE_MS = 60_000;

/**
 * Requests decisions from the Redis server at `address`. Each decision is one script call. The
 * client pipelines all calls of an event-loop turn into one write. Counterpart of
 * meter-decisions.ts.
 */
export async function openRedisDecisions(
  address: string,
  accounts: readonly { readonly id: string }[],
): Promise<{ readonly decide: Decide } & AsyncDisposable> {
  const client = createClient({ url: `redis://${address}` });
  client.on('error', () => undefined);
  await client.connect();
  const script = await client.scriptLoad(await readFile(SCRIPT, 'utf8'));
  const fixed = [REQUESTS_PER_MINUTE, CYCLES_PER_MONTH, '1', `${2 * MINUTE_MS}`];
  return {
    async decide(account) {
      const { id = '' } = accounts[account] ?? {};
      const minute = Math.floor(Date.now() / MINUTE_MS);
      const keys = [`minute:${id}:${minute}`, `month:${id}`];
      const answer = await client.evalSha(script, { keys, arguments: fixed });
      return Array.isArray(answer) && answer[0] === 1;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
