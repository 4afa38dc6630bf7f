import { BATCH, MIX } from '#loadtest/mix';
import { BadRequest } from '#loadtest/options';
import {
  type Demand,
  instancesOf,
  PROFILES,
  type ProfileName,
  peakOf,
  phasesOf,
  requestsOf,
} from '#loadtest/profile';
import type { PlanLeft } from '#loadtest/target';

/*
 * What of a run a plan bears: without accounts of its own a run keeps to the plan of the key it was
 * given, so that the service is measured and not the plan.
 */

/** What a run was lowered to, and why, for people. */
export type Fitted = { readonly demand: Demand; readonly notes: readonly string[] };

/** Part of a plan's requests a minute that the load may take; seeding and clearing take the rest. */
const PART = 0.8;

/** Cycles that a request of the mix takes on average. */
const MIX_CYCLES = (MIX.process.of100 + MIX.batch.of100 * BATCH) / 100;

/** The part of a run that this plan bears. Throws `BadRequest` when that would be no run at all. */
export function fitToPlan(demand: Demand, plan: PlanLeft): Fitted {
  const { load, secondsMin } = PROFILES[demand.name];
  if (load === 'limits') return { demand: aboveThePlan(demand, plan), notes: [] };
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
    throw new BadRequest(`the plan of the key (${plan.name}) is too small for ${demand.name}`);
  }
  return { demand: fitted, notes };
}

function lowered(demand: Demand, perS: number): Demand {
  return { ...demand, perS: perS < demand.perS ? Math.floor(perS * 10) / 10 : perS };
}

function requestsIn(demand: Demand): number {
  return phasesOf(demand).reduce((sum, phase) => sum + requestsOf(phase), 0);
}

/** What is offered must be more than the plan, or nothing shows that it holds. */
function aboveThePlan(demand: Demand, { requestsPerMinute }: PlanLeft): Demand {
  const offered = Math.floor(demand.perS * secondsOfMinute(demand));
  if (offered > requestsPerMinute) return demand;
  const wanted = `more than RATE=${demand.perS} offers in ${secondsOfMinute(demand)} s`;
  throw new BadRequest(`the key's plan admits ${requestsPerMinute} requests a minute, ${wanted}`);
}

/** A run may be over before its first minute is. */
function secondsOfMinute({ seconds }: Demand): number {
  return Math.min(60, seconds);
}

/** The plans of the two accounts that `limiter` gets: half of what is offered to each. */
export function limiterPlans(demand: Demand) {
  const { perS, seconds } = demand;
  const perMinute = Math.floor((perS / 2) * secondsOfMinute(demand) * 0.5);
  const cycles = Math.floor((perS / 2) * seconds * 0.5);
  return { requestsPerMinute: Math.max(1, perMinute), cyclesPerMonth: Math.max(1, cycles) };
}

/** The run that was asked for, with what the profile has where nothing was said. */
export function demandOf(
  name: ProfileName,
  { perS, seconds }: { perS: number | undefined; seconds: number | undefined },
): Demand {
  const usual = PROFILES[name];
  return { name, perS: perS ?? usual.perS, seconds: seconds ?? usual.seconds };
}
