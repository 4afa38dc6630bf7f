import { LimiterService, type UsageReply } from '#wire/gen/identity_engine/v1/limiter';
import type { LimiterTools } from '#wire/limiter-tools';
import type { WireService } from '#wire/wire-service';
import { withTool } from '#wire/with-tool';

/** `service` with the unary method `Usage`. */
export function withLimiterTools(
  service: WireService,
  tools: LimiterTools,
  reportBug: (error: unknown) => void,
): WireService {
  const usage = {
    name: 'usage',
    method: LimiterService.usage,
    answer: ({ accountId }: { readonly accountId: string }) => used(tools, accountId),
  };
  return withTool(service, usage, reportBug);
}

async function used(tools: LimiterTools, accountId: string): Promise<UsageReply> {
  const usage = await tools.usage(accountId);
  if (usage === undefined) return { usage };
  const { limits, ...counts } = usage;
  return { usage: { ...counts, ...limits } };
}
