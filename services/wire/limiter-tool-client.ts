import { askTool } from '#wire/ask-tool';
import { LimiterService, type UsageReply } from '#wire/gen/identity_engine/v1/limiter';
import type { LimiterTools, MeterUsage } from '#wire/limiter-tools';
import type { UnaryCallOptions } from '#wire/unary-call';

/**
 * The tools of the limiter at `address` (`host:port`), each call over a connection of its own. They
 * reject with the limiter's own fault, or with `service_unavailable` when no limiter of a cluster
 * answers there in time.
 */
export function connectLimiterTools(address: string, options: UnaryCallOptions): LimiterTools {
  const peer = { address, kind: 'limiter' } as const;
  return {
    usage: async (accountId) =>
      usageOf(await askTool(peer, LimiterService.usage, { accountId }, options)),
    resetUsage: async (accountId) =>
      usageOf(await askTool(peer, LimiterService.resetUsage, { accountId }, options)),
  };
}

function usageOf({ usage }: UsageReply): MeterUsage | undefined {
  if (usage === undefined) return undefined;
  const { requestsPerMinute, cyclesPerMonth, windowResetAtS, ...counts } = usage;
  return { ...counts, windowResetAtS, limits: { requestsPerMinute, cyclesPerMonth } };
}
