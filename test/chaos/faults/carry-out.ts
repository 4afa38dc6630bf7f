import { setTimeout as sleep } from 'node:timers/promises';
import type { NewAccount } from '#deploy/local/new-account';
import type { Call, CallLog, Outcome, Requested } from '#test/chaos/load/call-log';
import type { Asked, EdgeCaller } from '#test/chaos/load/edge-caller';
import { outcomeOf } from '#test/chaos/load/outcome-of';
import { requestOf } from '#test/chaos/load/request-of';

/** Log and client that `carryOut` uses. */
export type CallPorts = { readonly log: CallLog; readonly caller: EdgeCaller };

/** A call to make. */
export type Errand = {
  readonly account: NewAccount;
  /** Empty for a create. */
  readonly instance: string;
  readonly requested: Requested;
  /** `Idempotency-Key`, if any. */
  readonly key: string | undefined;
  readonly dueMs: number;
};

/** Retry policy of a caller. */
export type Patience = {
  /** Whether to retry after an outcome. */
  readonly isAgain: (outcome: Outcome) => boolean;
  /** Time after the first attempt until which retries are scheduled, in ms. */
  readonly msMax: number;
  /** Pause between attempts, in ms. */
  readonly pauseMs: number;
};

/** Makes one call with its retries. Logs the call before the first attempt. */
export async function carryOut(
  ports: CallPorts,
  errand: Errand,
  patience: Patience,
): Promise<Call> {
  const { account, instance, requested, key, dueMs } = errand;
  const { accountId, apiKey } = account;
  const startMs = performance.now();
  const call = ports.log.begin({ requested, accountId, instance, key, dueMs, startMs });
  const asked = { ...requestOf(requested, instance), apiKey, idempotencyKey: key };
  const outcome = await outcomeAfterRetries(ports.caller, call, asked, patience);
  call.endMs = performance.now();
  call.outcome = outcome;
  return call;
}

async function outcomeAfterRetries(
  caller: EdgeCaller,
  call: Call,
  asked: Asked,
  { isAgain, msMax, pauseMs }: Patience,
): Promise<Outcome> {
  const lastMs = call.startMs + msMax;
  let isUnknown = false;
  for (;;) {
    const outcome = await tryOnce(caller, call, asked);
    if (outcome.kind === 'acknowledged' || outcome.kind === 'superseded') return outcome;
    if (outcome.kind === 'unknown') isUnknown = true;
    if (!isAgain(outcome) || performance.now() > lastMs) {
      if (!isUnknown || outcome.kind === 'unknown') return outcome;
      return { kind: 'unknown', why: `then ${outcome.kind}` };
    }
    await sleep(pauseMs);
  }
}

async function tryOnce(caller: EdgeCaller, call: Call, asked: Asked): Promise<Outcome> {
  call.tries += 1;
  const answered = await caller.send(asked);
  const outcome = outcomeOf(answered);
  const isNew = call.requested.kind === 'create' && outcome.kind === 'acknowledged';
  if (isNew && answered.kind === 'answer') {
    call.instance = /"id":"(inst_[0-9a-f]{16})"/.exec(answered.body)?.[1] ?? '';
  }
  return outcome;
}
