import { RoutedService, type RoutedServiceOptions } from '#routing/routed-service';
import { RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MIN } from '#routing/routing-bounds';
import type { RoutingPolicy } from '#routing/routing-policy';
import type { EngineAnswer, EngineCall, EngineClient, EngineCommand } from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/**
 * The engines of a cluster as one: a call goes to the owner of its instance or listing until its
 * deadline, at most 10 s after the first try. Source: architecture 3.5.
 *
 * A retry never advances anything twice, because the actor knows the call's id.
 */
export class RoutedEngine extends RoutedService<EngineCall, EngineAnswer> implements EngineClient {
  constructor(options: RoutedServiceOptions<EngineCall, EngineAnswer>) {
    super(POLICY, options);
  }
}

const POLICY: RoutingPolicy<EngineCall, EngineAnswer> = {
  routingIdOf,
  timeoutMsOf: () => CALL_TIMEOUT_MS_MAX,
  movingMs: CALL_TIMEOUT_MS_MAX,
  deadlineAtMsOf: ({ deadlineAtMs }) => deadlineAtMs,
  unavailable: 'engine_unavailable',
  isRepeatable: true,
  afterUnknown: (answer) => (answer.isReplayed ? { ...answer, isPerhapsOwn: true } : answer),
  pauseMs: { first: RETRY_PAUSE_MS_MIN, most: RETRY_PAUSE_MS_MAX },
};

/** What an account's directory is asked, or any engine for its instances. */
const OF_ACCOUNT: ReadonlySet<EngineCommand['kind']> = new Set([
  'list',
  'putListingRow',
  'removeListingRow',
  'reservePlace',
  'readSummaries',
]);

/** Whose owner answers the call: the account's directory for its listing, else the instance. */
function routingIdOf({ accountId, instanceId, command }: EngineCall): string {
  const { kind } = command;
  return OF_ACCOUNT.has(kind) ? accountId : instanceId;
}
