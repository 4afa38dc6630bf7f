import type { Bus } from '#bus/bus';
import type { ClockWatch } from '#cluster/clock-watch';
import type { Config } from '#config';
import { LimiterNode } from '#limiter/limiter-node';
import { busAccountNews } from '#process/bus-account-news';
import type { Foundation } from '#process/foundation';
import { limiterConfigOf } from '#process/limiter-config';
import { nodePortsOf, placeOf, showShards } from '#process/membership';
import type { SharedStores } from '#process/ports';
import { adminClient } from '#wire/admin-client';

/** How long another limiter may take to say what an account has used, in milliseconds. */
const ADMIN_MS_MAX = 3_000;

/** A limiter of a cluster, reached at `address`. Fulfils when it has joined. */
export async function joinLimiters(
  config: Config,
  foundation: Foundation,
  stores: SharedStores,
  bus: Bus,
  address: string,
  clocks?: ClockWatch,
): Promise<LimiterNode> {
  const { clock, metrics } = foundation;
  const call = { timeoutMs: ADMIN_MS_MAX, clock, tls: foundation.tls() };
  const place = await placeOf('limiter', config, foundation, stores, address);
  const node = await LimiterNode.join(
    { ...limiterConfigOf(config, foundation), ...place },
    {
      ...foundation,
      ...stores,
      ...nodePortsOf('limiter', foundation, bus, clocks),
      accountNews: busAccountNews({ ...place, bus }),
      adminAt: (other) => adminClient(other, call),
    },
  );
  showShards('limiter', metrics, node);
  return node;
}
