/**
 * Caller process of the limiter benchmark. On the parent's request, asks a decider for decisions.
 * Exits when the parent exits.
 */
import type { CallerRequest } from '#bench/limiter/decision-caller';
import { type Decide, runLoad } from '#bench/limiter/load';
import { openMeterDecisions } from '#bench/limiter/meter-decisions';
import { openRedisDecisions } from '#bench/limiter/redis-decisions';

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

process.on('message', (request: CallerRequest) => {
  answer(request).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
