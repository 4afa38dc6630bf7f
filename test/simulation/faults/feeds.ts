import { CommitLog } from '#actor-runtime/commit-log';
import { Outbox } from '#actor-runtime/outbox';
import { Feed } from '#engine/feed/feed';
import { FeedKind } from '#engine/feed/kind';
import { InstanceSourcing } from '#engine/instance/sourcing';
import { FEED_ROWS_MAX } from '#storage/ports/feeds';
import { replaceMethod } from '#test/simulation/faults/replace-method';
import {
  CRASHES,
  ISLANDS,
  LONG,
  MOVES,
  ROUGH,
  type Variant,
} from '#test/simulation/faults/variant';

/** Flaw: a replay adds no notices to the outbox. */
function forgetReplayed(stack: DisposableStack): void {
  let isReplaying = false;
  replaceMethod(stack, InstanceSourcing, 'beforeReplay', (before, _sourcing, state, events) => {
    isReplaying = true;
    return before(state, events);
  });
  replaceMethod(stack, InstanceSourcing, 'effectAfterReplay', (after, _sourcing, ...args) => {
    isReplaying = false;
    return after(...args);
  });
  replaceMethod(stack, Outbox, 'add', (add, _outbox, ...args) => {
    if (!isReplaying) add(...args);
  });
}

/** Deliberate flaws in the log of transitions. */
export const FEED_VARIANTS: readonly Variant[] = [
  {
    name: 'instance stored before its transitions are recorded',
    requested: { ...ROUGH, checkpointAgeMs: 2_000, count: 14, loadMs: 30_000 },
    spoil: (stack) => {
      replaceMethod(stack, Outbox, 'whenSent', () => undefined);
      replaceMethod(stack, Outbox, 'has', () => false);
    },
  },
  {
    name: 'transitions sent before their record is durable',
    requested: { ...ISLANDS, only: ['storeCut'], count: 16 },
    spoil: (stack) => replaceMethod(stack, CommitLog, 'whenNoticed', async () => undefined),
  },
  {
    name: 'transitions not sent again after a replay',
    requested: CRASHES,
    spoil: (stack) => forgetReplayed(stack),
  },
  {
    name: 'transitions of a call recorded in reverse order',
    requested: MOVES,
    spoil: (stack) =>
      replaceMethod(stack, Feed, 'newIn', (newIn, _feed, rows) => newIn(rows).toReversed()),
  },
  {
    name: 'feed stored without the rows since the last chunk',
    requested: MOVES,
    spoil: (stack) =>
      replaceMethod(stack, Feed, 'copy', (copy, _feed, accountId) => {
        const whole = copy(accountId);
        return { ...whole, head: { ...whole.head, newest: [] } };
      }),
  },
  {
    name: 'feed that does not read its stored head',
    requested: LONG,
    spoil: (stack) =>
      replaceMethod(stack, FeedKind, 'activate', async (activate, _kind, accountId) => {
        const { version } = await activate(accountId);
        return { state: new Feed(undefined, FEED_ROWS_MAX), version, recentCalls: [] };
      }),
  },
];
