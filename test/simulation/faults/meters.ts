import { Admission, type AdmissionCall } from '#edge/callers/admission';
import { EngineCalls } from '#edge/serve/engine-calls';
import { toFault } from '#errors/fault';
import { MeterKind } from '#limiter/actors';
import { DurableWatermark } from '#limiter/meter/usage';
import { replaceMethod } from '#test/simulation/faults/replace-method';
import type { Variant } from '#test/simulation/faults/variant';

/** Flaw: refunds the cycles of a call whose outcome is unknown. */
function refundUnknown(stack: DisposableStack): void {
  const admitted = new Map<number, { admission: Admission; call: AdmissionCall }>();
  replaceMethod(stack, Admission, 'admit', (admit, admission, call) => {
    admitted.set(call.callId, { admission, call });
    return admit(call);
  });
  replaceMethod(stack, EngineCalls, 'ask', async (ask, _calls, ...args) => {
    try {
      return await ask(...args);
    } catch (error) {
      const { admission, call } = admitted.get(args[1].callId) ?? {};
      if (call !== undefined && toFault(error).isOutcomeUnknown) {
        await admission?.settle(call, 0, { headers: {} });
      }
      throw error;
    }
  });
}

/** Two limiters and no webhooks, with checkpoints during the run. */
const LIMITERS = {
  limiters: 2,
  webhooks: 0,
  checkpointAgeMs: 20_000,
  isDeletionTimed: false,
  isTrimming: false,
} as const;

/** Flaws in meters and in the edges' calls to limiters. */
export const METER_VARIANTS: readonly Variant[] = [
  {
    name: 'refund of an unknown outcome',
    requested: { ...LIMITERS, only: ['storeCut'], count: 10, loadMs: 20_000 },
    spoil: refundUnknown,
  },
  {
    name: 'meter that grants above its durable watermark',
    requested: {
      ...LIMITERS,
      accounts: 12,
      keyed: 0.2,
      only: ['kill'],
      count: 20,
      loadMs: 24_000,
      store: { slow: 0.1 },
    },
    spoil: (stack) => replaceMethod(stack, DurableWatermark, 'offsetOf', () => 0),
  },
  {
    name: 'closing record that is forgotten',
    requested: { ...LIMITERS, only: ['restart'], count: 6, loadMs: 14_000, isCalm: true },
    spoil: (stack) => replaceMethod(stack, MeterKind, 'closing', () => undefined),
  },
];
