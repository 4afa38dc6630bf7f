import type { ServiceDefinition } from '@grpc/grpc-js';
import type { AdminTarget, InstanceReport, KeyUsage, MeterUsage } from '#wire/admin';
import {
  type AdminServer,
  AdminService,
  type ReadInstanceReply,
  type UsageReply,
} from '#wire/gen/identity_engine/v1/admin';
import { unaryHandler } from '#wire/unary-handler';
import type { WireService } from '#wire/wire-service';

/**
 * What `adminClient` asks, served beside an engine or a limiter. A method that `target` does not
 * have is refused as UNIMPLEMENTED. The service answers also while the process stops: a node that
 * leaves is not dead yet (architecture 3.3), and operators look most closely then. `onDrain` receives
 * which user asked for a drain that has begun.
 */
export function adminService(
  target: AdminTarget,
  reportBug: (error: unknown) => void = () => undefined,
  onDrain: (requestedBy: string) => void = () => undefined,
): WireService {
  const readLoad = target.readLoad?.bind(target);
  const readInstance = target.readInstance?.bind(target);
  const readUsage = target.readUsage?.bind(target);
  const resetUsage = target.resetUsage?.bind(target);
  const implementation: Partial<AdminServer> = {
    identify: unaryHandler(async () => ({ incarnation: target.identity() }), reportBug),
    drain: unaryHandler(async ({ requestedBy }) => {
      const progress = await target.drain();
      onDrain(userNameOf(requestedBy));
      return progress;
    }, reportBug),
  };
  if (readLoad !== undefined) {
    implementation.readLoad = unaryHandler(async () => await readLoad(), reportBug);
  }
  if (readInstance !== undefined) {
    implementation.readInstance = unaryHandler(
      async ({ instanceId }) => reportToWire(await readInstance(instanceId)),
      reportBug,
    );
  }
  if (readUsage !== undefined) {
    implementation.readUsage = unaryHandler(
      async ({ accountId }) => usageToWire(await readUsage(accountId)),
      reportBug,
    );
  }
  if (resetUsage !== undefined) {
    implementation.resetUsage = unaryHandler(
      async ({ accountId }) => usageToWire(await resetUsage(accountId)),
      reportBug,
    );
  }
  const methods: ServiceDefinition = AdminService;
  const served = Object.entries(methods).filter(([name]) => name in implementation);
  return {
    name: 'identity_engine.v1.Admin',
    definition: Object.fromEntries(served),
    implementation: implementation as WireService['implementation'],
    drain: () => undefined,
  };
}

/** A claimed name as it may stand in a log and a probe: letters, digits and `.@+-`, 64 at most. */
function userNameOf(claimed: string): string {
  return claimed.slice(0, 64).replaceAll(/[^\w.@+\\-]/g, '?') || 'unknown';
}

function reportToWire({ incarnation, isServed, active }: InstanceReport): ReadInstanceReply {
  const reply = active && { ...active, unstoredCycles: [...active.unstoredCycles] };
  return { incarnation, served: isServed, active: reply };
}

function usageToWire(usage: MeterUsage | undefined): UsageReply {
  if (usage === undefined) return { usage };
  const { limits, monthWatermark, windowWatermark, ...counts } = usage;
  const watermarks = { monthMark: monthWatermark, windowMark: windowWatermark };
  const month = {
    cyclesByDay: [...usage.cyclesByDay],
    keys: usage.keys.map(keyToWire),
    finishedMonths: usage.finishedMonths.map(({ endsAtMs, cyclesByDay, keys }) => ({
      endsAtMs,
      cyclesByDay: [...cyclesByDay],
      keys: keys.map(keyToWire),
    })),
  };
  return { usage: { ...counts, ...watermarks, ...limits, ...month } };
}

function keyToWire({ prefix, cyclesByDay }: KeyUsage): { prefix: string; cyclesByDay: number[] } {
  return { prefix, cyclesByDay: [...cyclesByDay] };
}
