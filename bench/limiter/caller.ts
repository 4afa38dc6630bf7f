/**
 * Caller process of the limiter benchmark. Requests decisions from a decider when the parent
 * process asks for a load. Exits when the parent exits.
 */
import { readFile } from 'node:fs/promises';
import { createClient } from '@redis/client';
import type { CallerRequest } from '#bench/limiter/decision-caller';
import { type Decide, runLoad } from '#bench/limiter/load';
import { openMeterDecisions } from '#bench/limiter/meter-decisions';
import { CYCLES_PER_MONTH, REQUESTS_PER_MINUTE } from '#bench/processes/service';

const SCRIPT = 'bench/limiter/fixed-window.lua';

const MINUTE_MS = 60_000;

let decide: Decide | undefined;
let accountCount = 0;

async function answer(request: CallerRequest): Promise<unknown> {
  if (request.kind === 'open') {
    const { address, accounts, target } = request;
    accountCount = accounts.length;
    const opened =
      target.kind === 'redis'
        ? await openRedisDecisions(address, accounts)
        : await openMeterDecisions(address, accounts, target.cycles);
    decide = opened.decide;
    return undefined;
  }
  if (decide === undefined) throw new Error('the parent must send `open` before `load`');
  const before = process.cpuUsage();
  const result = await runLoad(decide, accountCount, request.run);
  const { user, system } = process.cpuUsage(before);
  return { ...result, cpuMicros: user + system };
}

/**
 * Asks the Redis server at `address` for decisions, a script call each. The client pipelines all
 * calls of an event-loop turn into one write.
 */
async function openRedisDecisions(
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

process.on('message', (request: CallerRequest) => {
  answer(request).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
