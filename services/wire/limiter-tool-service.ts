import { LimiterService, type UsageReply } from '#wire/gen/identity_engine/v1/limiter';
import type { LimiterTools, MeterUsage } from '#wire/limiter-tools';
import type { WireService } from '#wire/wire-service';
import { withTool } from '#wire/with-tool';

/** `service` with the unary methods `Usage` and `ResetUsage`. */
export function withLimiterTools(
  service: WireService,
  tools: LimiterTools,
  reportBug: (error: unknown) => void,
): WireService {
  const usage = {
    name: 'usage',
    method: LimiterService.usage,
    answer: async ({ accountId }: AccountQuestion) => replyOf(await tools.usage(accountId)),
  };
  const resetUsage = {
    name: 'resetUsage',
    method: LimiterService.resetUsage,
    answer: async ({ accountId }: AccountQuestion) => replyOf(await tools.resetUsage(accountId)),
  };
  return withTool(withTool(service, usage, reportBug), resetUsage, reportBug);
}

type AccountQuestion = { readonly accountId: string };

function replyOf(usage: MeterUsage | undefined): UsageReply {
  if (usage === undefined) return { usage };
  const { limits, ...counts } = usage;
  return { usage: { ...counts, ...limits } };
}
