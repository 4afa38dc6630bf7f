import { limiterFindings } from '#bench/limiter/limiter-report';
import { type LimiterSizes, measureLimiter } from '#bench/limiter/measure-limiter';
import type { Part } from '#bench/page/part';

const FULL: LimiterSizes = {
  rounds: 5,
  secondsPerRun: 4,
  openSeconds: 5,
  warmUpS: 3,
  compileS: 90,
};
const QUICK: LimiterSizes = {
  rounds: 1,
  secondsPerRun: 1,
  openSeconds: 2,
  warmUpS: 1,
  compileS: 1,
};

/** Decisions of one durable limiter, beside a script in Redis. */
export const limiter: Part = {
  name: 'limiter',
  group: 'limiter',
  title: 'Decisions of one limiter',
  about:
    'One limiter process serves all accounts, with Cassandra and NATS. Two caller processes request ' +
    'decisions for 1,000 accounts in turn. A decision is the answer to an `Admit` message: whether a ' +
    'call may start. Like edges, callers of (l) also send a `Settle` message after the call, and do ' +
    'not wait for its answer. All programs send the messages of one event-loop turn in one write. ' +
    'Redis syncs its append-only file every second. The limiter admits a call only if Cassandra ' +
    'already stores the allowance for the call. "64 in flight" means 64 decisions at the same time. ' +
    "In the open model, latency begins at the due time and includes the caller's timer (1 ms).",
  missed:
    'The limiter stores each grant durably. Redis syncs to disk once a second. All processes share ' +
    'two cores.',
  needs: ['cassandra', 'redis'],
  measure: async ({ isQuick, print }) =>
    limiterFindings(await measureLimiter(isQuick ? QUICK : FULL, print)),
};
