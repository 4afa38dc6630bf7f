/* Ids of the instances of a demonstration. */
import { createHash } from 'node:crypto';

/** Maximum number of demonstrations that an account loads on one day (UTC). */
const ROUNDS_MAX = 20;

/** Length of an id after its prefix, in hexadecimal digits. Source: interface 2.2. */
const ID_DIGITS = 16;

const DAY_MS = 24 * 60 * 60_000;

/** UTC day of a time in Unix milliseconds, such as `2026-01-31`. */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/**
 * Ids under which an agent can exist, in the order in which loads on the day of `nowMs` try the ids.
 * The engine decides whether an id is free, so that two loads at the same time create one instance.
 * The id of a deleted instance stays taken, so a load after a removal gets the next id.
 */
export function idsOf(accountId: string, slug: string, nowMs: number): readonly string[] {
  return Array.from({ length: ROUNDS_MAX }, (_, round) => {
    const named = ['demo fleet', accountId, slug, dayOf(nowMs), round].join('\n');
    return `inst_${createHash('sha256').update(named).digest('hex').slice(0, ID_DIGITS)}`;
  });
}

/**
 * Agents by the ids that loads can have created, for the days of some instances. A fork has
 * the tags of an agent, but no such id.
 */
export function agentsById(
  accountId: string,
  slugs: readonly string[],
  createdAtMs: readonly number[],
): ReadonlyMap<string, string> {
  // A load can end on the day after.
  const days = new Set(createdAtMs.flatMap((ms) => [dayOf(ms), dayOf(ms - DAY_MS)]));
  const agents = new Map<string, string>();
  for (const day of days) {
    for (const slug of slugs) {
      for (const id of idsOf(accountId, slug, Date.parse(day))) agents.set(id, slug);
    }
  }
  return agents;
}

/** Seconds until the day of `nowMs` ends. */
export const dayLeftS = (nowMs: number): number => Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1_000);
