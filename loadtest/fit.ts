import { BATCH, MIX } from '#loadtest/k6/mix';
import {
  type Demand,
  instancesOf,
  PROFILES,
  type ProfileName,
  peakOf,
  phasesOf,
  requestsOf,
} from '#loadtest/k6/profile';
import { BadRequest } from '#loadtest/options';
import type { PlanLeft } from '#loadtest/target';

/*
 * Fits a run to the plan of the given API key, so that the run measures the service and not the
 * plan's limits.
 */

/** A reduced demand, and the reasons as text. */
export type Fitted = { readonly demand: Demand; readonly notes: readonly string[] };

/** Share of a plan's limits for the load; setup and teardown use the rest. */
const PART = 0.8;

/** Average cycles per request of the mix. */
const MIX_CYCLES = (MIX.process.of100 + MIX.batch.of100 * BATCH) / 100;

/** Reduces a run to the plan's limits. Throws `BadRequest` if nothing is left. */
export function fitToPlan(demand: Demand, plan: PlanLeft): Fitted {
  const { load, secondsMin } = PROFILES[demand.name];
  if (load === 'limits') return { demand: checkAbovePlan(demand, plan), notes: [] };
  const notes: string[] = [];
  const perSMax = (plan.requestsPerMinute * PART) / 60 / (peakOf(demand) / demand.perS);
  const byMinute = lowered(demand, Math.min(demand.perS, perSMax));
  if (byMinute.perS < demand.perS) {
    const bound = `${plan.requestsPerMinute} requests a minute`;
    notes.push(`RATE lowered from ${demand.perS} to ${byMinute.perS}: the plan has ${bound}`);
  }
  const cyclesEach = load === 'hot' ? 1 : MIX_CYCLES;
  const left = plan.cyclesLeft * PART;
  const cyclesPerS = (requestsIn(byMinute) * cyclesEach) / byMinute.seconds;
  const seconds = Math.min(byMinute.seconds, Math.floor(left / cyclesPerS));
  if (seconds < byMinute.seconds) {
    const text = `${plan.cyclesLeft} cycles are left of the month`;
    notes.push(`DURATION lowered from ${byMinute.seconds} s to ${seconds} s: ${text}`);
  }
  const fitted = { ...byMinute, seconds };
  if (byMinute.perS < 0.1 || seconds < secondsMin || instancesOf(fitted) > plan.instancesMax) {
    throw new BadRequest(
      `the key's plan (${plan.name}) is too small for ${demand.name}: use another key`,
    );
  }
  return { demand: fitted, notes };
}

function lowered(demand: Demand, perS: number): Demand {
  return { ...demand, perS: perS < demand.perS ? Math.floor(perS * 10) / 10 : perS };
}

function requestsIn(demand: Demand): number {
  return phasesOf(demand).reduce((sum, phase) => sum + requestsOf(phase), 0);
}

/**
 * Returns the demand if its rate exceeds the plan, so that the run tests the plan's limit. Throws
 * `BadRequest` otherwise.
 */
function checkAbovePlan(demand: Demand, { requestsPerMinute }: PlanLeft): Demand {
  const offered = Math.floor(demand.perS * secondsOfMinute(demand));
  if (offered > requestsPerMinute) return demand;
  const wanted = `more than RATE=${demand.perS} sends in ${secondsOfMinute(demand)} s: raise RATE`;
  throw new BadRequest(`the key's plan admits ${requestsPerMinute} requests a minute, ${wanted}`);
}

/** Number of seconds of the run within its first minute, at most 60. */
function secondsOfMinute({ seconds }: Demand): number {
  return Math.min(60, seconds);
}

/** Limits for the two accounts of profile `limiter`: half of the load on each account. */
export function limiterPlans(demand: Demand) {
  const { perS, seconds } = demand;
  const perMinute = Math.floor((perS / 2) * secondsOfMinute(demand) * 0.5);
  const cycles = Math.floor((perS / 2) * seconds * 0.5);
  return { requestsPerMinute: Math.max(1, perMinute), cyclesPerMonth: Math.max(1, cycles) };
}

/** The requested run, with the profile's defaults. */
export function demandOf(
  name: ProfileName,
  { perS, seconds }: { perS: number | undefined; seconds: number | undefined },
): Demand {
  const usual = PROFILES[name];
  return { name, perS: perS ?? usual.perS, seconds: seconds ?? usual.seconds };
}
