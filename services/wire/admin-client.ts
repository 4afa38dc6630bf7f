import { type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js';
import { Fault, faultFor } from '#fault/fault';
import type { DrainProgress, InstanceAdmin, LoadAdmin, MeterUsage, UsageAdmin } from '#wire/admin';
import { faultOfStatus } from '#wire/fault-codec';
import { AdminService, type UsageReply } from '#wire/gen/identity_engine/v1/admin';
import { type UnaryCallOptions, unaryCall } from '#wire/unary-call';
import type { WireRole } from '#wire/wire-roles';
import { trustText } from '#wire/wire-trust';

/** Longest incarnation id, in UTF-16 units. */
const INCARNATION_LENGTH_MAX = 255;

/** What should answer, and which roles are that: with TLS no process of another one is asked. */
const ROLES = {
  node: ['engine', 'limiter'],
  engine: ['engine'],
  limiter: ['limiter'],
} as const satisfies Record<string, readonly WireRole[]>;

/** What operators and other nodes ask of the node at one address. */
export interface AdminClient extends LoadAdmin, InstanceAdmin, UsageAdmin {
  /** The present incarnation of the node, as `NodeAdmin.identity`. */
  identify(): Promise<string>;
  /** As `NodeAdmin.drain`; `requestedBy` names the user for the log of the node. */
  drain(requestedBy?: string): Promise<DrainProgress>;
}

/**
 * The node at `address` (`host:port`), each call over a connection of its own. Calls reject with
 * the node's own fault, or with `service_unavailable` when no node of that kind answers there in
 * time.
 */
export function adminClient(address: string, options: UnaryCallOptions): AdminClient {
  async function ask<Request, Reply>(
    kind: keyof typeof ROLES,
    method: MethodDefinition<Request, Reply>,
    request: Request,
  ): Promise<Reply> {
    const callee = { address, roles: ROLES[kind] };
    const reply = await unaryCall(callee, method, request, options).catch((error: ServiceError) => {
      throw faultOfStatus(error) ?? noneAt(address, kind, error);
    });
    if (reply === undefined) throw noneAt(address, kind, undefined);
    return reply;
  }

  return {
    async identify() {
      const { incarnation } = await ask('node', AdminService.identify, {});
      return trustText(incarnation, 1, INCARNATION_LENGTH_MAX, 'incarnation');
    },
    drain: (requestedBy = '') => ask('node', AdminService.drain, { requestedBy }),
    async readLoad() {
      const { oldestUnstoredMs, ...load } = await ask('node', AdminService.readLoad, {});
      return { ...load, oldestUnstoredMs };
    },
    async readInstance(instanceId) {
      const reply = await ask('engine', AdminService.readInstance, { instanceId });
      const { incarnation, served, active } = reply;
      return { incarnation, isServed: served, active };
    },
    readUsage: async (accountId) =>
      usageOf(await ask('limiter', AdminService.readUsage, { accountId })),
    resetUsage: async (accountId) =>
      usageOf(await ask('limiter', AdminService.resetUsage, { accountId })),
  };
}

function noneAt(address: string, kind: keyof typeof ROLES, cause: ServiceError | undefined): Fault {
  const text = `no ${kind} of a cluster answers at ${address}${whyOf(cause)}`;
  if (kind === 'node') return new Fault('service_unavailable', text, { cause });
  return faultFor(`${kind}_unavailable`, text, { cause });
}

/** The operator looks at the other process next: is it slow, unreachable, or another? */
function whyOf(cause: ServiceError | undefined): string {
  switch (cause?.code) {
    case undefined:
    case status.UNIMPLEMENTED:
      return '';
    // Only the client's own deadline cancels.
    case status.CANCELLED:
      return ' in time';
    default:
      return `: ${cause?.details}`;
  }
}

function usageOf({ usage }: UsageReply): MeterUsage | undefined {
  if (usage === undefined) return undefined;
  const { requestsPerMinute, cyclesPerMonth, windowResetAtS, monthMark, windowMark, ...counts } =
    usage;
  return {
    ...counts,
    windowResetAtS,
    monthWatermark: monthMark,
    windowWatermark: windowMark,
    limits: { requestsPerMinute, cyclesPerMonth },
  };
}
