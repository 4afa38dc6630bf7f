import { HostedTurn } from '#actor-runtime/activation';
import { CommitLog } from '#actor-runtime/commit-log';
import { FeedKind } from '#engine/feed/kind';
import { Deliverers } from '#engine/webhooks/deliverers';
import { Deliveries } from '#engine/webhooks/deliveries';
import { EndpointLoop } from '#engine/webhooks/endpoint-loop';
import type { OutgoingMessage } from '#grpc/courier-messages';
import { isoTime } from '#stdlib/clock';
import { replaceGetter, replaceMethod } from '#test/simulation/faults/replace-method';
import { CRASHES, MOVES, type Variant } from '#test/simulation/faults/variant';
import type { ScenarioRequest } from '#test/simulation/scenario';
import type { CourierFlaw } from '#test/simulation/simulated/couriers';
import { ATTEMPTS_MAX } from '#webhooks/retry-schedule';

/** Endpoints that often fail, of one busy account. */
const FAILING = {
  accounts: 1,
  webhooks: 2,
  hanging: 0,
  couriers: { refused: 0.3, silent: 0.1, answerLost: 0.1 },
} as const;

/** Processes pause while rows wait for couriers, so that other processes take over their feeds. */
const TAKEN: ScenarioRequest = {
  ...CRASHES,
  ...FAILING,
  accounts: 4,
  webhooks: 8,
  couriers: { away: 0.3, refused: 0.3 },
  only: ['pause', 'falseAlarm'],
  count: 8,
  loadMs: 18_000,
  isCalm: true,
};

/** Endpoints without faults, beside endpoints of the same account that never answer. */
const HANGING: ScenarioRequest = {
  ...MOVES,
  accounts: 1,
  webhooks: 4,
  hanging: 0.5,
  only: [],
  loadMs: 4_000,
  isCalm: true,
};

/** Endpoints that fail often and take no message in a failed attempt, so that changes are given up. */
const HOPELESS: ScenarioRequest = {
  ...MOVES,
  ...FAILING,
  webhooks: 6,
  couriers: { refused: 0.9, silent: 0, answerLost: 0, away: 0, broken: 0 },
};

/** Flaw: the list of failures shows the position after the failed change. */
function misplaceFailures(stack: DisposableStack): void {
  replaceGetter(stack, Deliveries, 'progress', (progress) => {
    const { held, failed, ...rest } = progress();
    return {
      ...rest,
      // After a restart, the next attempt is the last: real attempts take days.
      held: held.map((lane) => (lane.attempts === 0 ? lane : { ...lane, attempts: LAST_BUT_ONE })),
      failed: failed.map((row) => ({ ...row, seq: row.seq + 1 })),
    };
  });
}

/** Number of failed attempts after which one attempt is left. */
const LAST_BUT_ONE = ATTEMPTS_MAX - 1;

/** Flaw: while an endpoint fails, other endpoints wait too. */
function pauseTogether(stack: DisposableStack): void {
  const failing = new Set<Deliveries>();
  replaceMethod(stack, Deliveries, 'next', (next, deliveries, nowMs) => {
    if (deliveries.isFailing) failing.add(deliveries);
    else failing.delete(deliveries);
    return deliveries.isFailing || failing.size === 0 ? next(nowMs) : undefined;
  });
}

/** Flaw: each attempt has its own message id. */
const idPerAttempt: CourierFlaw = (client) => {
  let attempts = 0;
  return {
    ask: (message) => {
      attempts += 1;
      return client.ask({ ...message, id: `${message.id}-${attempts}` });
    },
  };
};

/** Flaw: the events of a repeated message have another time. */
const timePerAttempt: CourierFlaw = (client) => {
  const attempts = new Map<string, number>();
  return {
    ask: (message) => {
      const before = attempts.get(message.id) ?? 0;
      attempts.set(message.id, before + 1);
      return client.ask(before === 0 ? message : withTime(message, before));
    },
  };
};

/** Flaw: events have another time than in the log, the same in each attempt. */
const foreignTime: CourierFlaw = (client) => ({
  ask: (message) => client.ask(withTime(message, 0)),
});

function withTime(message: OutgoingMessage, atMs: number): OutgoingMessage {
  const { data, ...rest } = JSON.parse(message.body);
  const changed = data.map((event: object) => ({ ...event, occurred_at: isoTime(atMs) }));
  return { ...message, body: JSON.stringify({ ...rest, data: changed }) };
}

/** Flaw: a loop reads the feed from memory, although this process may no longer own the feed. */
function lookWithoutLease(stack: DisposableStack): void {
  const looks = new WeakSet<object>();
  let isLook = false;
  replaceMethod(stack, FeedKind, 'receive', (receive, _kind, feed, call, turn) => {
    if (call.kind === 'look') looks.add(turn);
    return receive(feed, call, turn);
  });
  replaceGetter(stack, HostedTurn, 'isAnswerable', (isAnswerable, turn) => {
    isLook = looks.has(turn);
    try {
      return isAnswerable();
    } finally {
      isLook = false;
    }
  });
  replaceMethod(stack, CommitLog, 'isLeased', (isLeased) => isLook || isLeased());
}

/** Deliberate flaws in the delivery of webhooks. */
export const WEBHOOK_VARIANTS: readonly Variant[] = [
  {
    name: 'progress stored past rows that are under way',
    requested: { ...CRASHES, ...FAILING },
    spoil: (stack) =>
      replaceGetter(stack, Deliveries, 'progress', (progress, deliveries) => {
        return { ...progress(), cursor: deliveries.taken };
      }),
  },
  {
    name: 'failed message counted as delivered',
    requested: { ...MOVES, ...FAILING },
    spoil: (stack) =>
      replaceMethod(stack, Deliveries, 'end', (end, _deliveries, batch, _result, nowMs) =>
        end(batch, { isDelivered: true }, nowMs),
      ),
  },
  {
    name: 'failed change listed at another position',
    requested: HOPELESS,
    spoil: misplaceFailures,
  },
  {
    name: 'held rows left out of the stored progress',
    requested: { ...MOVES, ...FAILING },
    spoil: (stack) =>
      replaceGetter(stack, Deliveries, 'progress', (progress) => ({ ...progress(), held: [] })),
  },
  {
    name: 'later rows of an instance sent while an earlier row waits for a retry',
    requested: { ...MOVES, ...FAILING },
    spoil: (stack) =>
      replaceMethod(stack, Deliveries, 'take', (take, deliveries, row, nowMs) => {
        const isWaited = deliveries.progress.held.some(
          (held) => held.instanceId === row.instanceId,
        );
        take(isWaited ? { ...row, instanceId: `after ${row.instanceId}` } : row, nowMs);
      }),
  },
  {
    name: 'messages about an instance sent at the same time',
    requested: { ...MOVES, ...FAILING },
    spoil: (stack) =>
      replaceMethod(stack, Deliveries, 'take', (take, _deliveries, row, nowMs) =>
        take({ ...row, instanceId: `${row.seq} ${row.instanceId}` }, nowMs),
      ),
  },
  {
    name: 'endpoints that wait while another endpoint fails',
    requested: HANGING,
    spoil: pauseTogether,
  },
  {
    name: 'loops that new rows do not wake',
    requested: HANGING,
    spoil: (stack) => replaceMethod(stack, Deliverers, 'wake', () => undefined),
  },
  {
    name: 'message sent without proof that the feed is still owned',
    requested: TAKEN,
    spoil: lookWithoutLease,
  },
  {
    name: 'pause that does not end the loop of the endpoint',
    requested: { ...MOVES, ...FAILING, webhooks: 6 },
    spoil: (stack) => replaceMethod(stack, EndpointLoop, 'end', async () => undefined),
  },
  {
    name: 'message id that differs in each attempt',
    requested: { ...MOVES, ...FAILING },
    flaws: { couriers: idPerAttempt },
  },
  {
    name: 'message content that differs in each attempt',
    requested: { ...MOVES, ...FAILING },
    flaws: { couriers: timePerAttempt },
  },
  {
    name: 'events that differ from the log',
    requested: { ...MOVES, ...FAILING },
    flaws: { couriers: foreignTime },
  },
];
