import type { AccountEvent, FleetCounts, ListedInstance } from '#clients/typescript/src/models';
import { LEADING_MODES, TRANSITIONS } from '#identity/transitions';

/** Types of events that a live fleet follows: all except the lists of actions. */
export const FOLLOWED_TYPES = TRANSITIONS.filter((type) => type !== 'contract_changed');

/** Groups of counts of `FleetCounts`, by the type of event that moves an instance in the group. */
const GROUPS = {
  stress_changed: 'stress_states',
  drift_changed: 'drift_levels',
  mode_changed: 'dominant_modes',
} as const;

/** Maximum number of events on the page. */
const EVENTS_MAX = 20;

/** Counts of a group by name. */
type Counts = Readonly<Record<string, number>>;

/** Counts of a fleet, and its newest events. */
export type LiveCounts = {
  readonly counts: FleetCounts;
  /** Newest first, without frequent types. */
  readonly events: readonly AccountEvent[];
  /**
   * Whether an event does not say how it changes the counts. A reset and a deletion do not name the
   * state before.
   */
  readonly isDue: boolean;
};

/** Begins with the counts of an answer. */
export function liveCounts(counts: FleetCounts): LiveCounts {
  return { counts, events: counts.recent_events, isDue: false };
}

/** Applies an event that follows the counts. */
export function counted(live: LiveCounts, event: AccountEvent): LiveCounts {
  const { type } = event;
  const isFrequent = type === 'mode_changed';
  return {
    counts: countsAfter(live.counts, event),
    events: isFrequent ? live.events : [event, ...live.events].slice(0, EVENTS_MAX),
    isDue: live.isDue || ['created', 'reset', 'deleted'].includes(type),
  };
}

function countsAfter(counts: FleetCounts, event: AccountEvent): FleetCounts {
  const { type, from, to } = event;
  if (type === 'created') return countsWith(counts, event);
  const group = GROUPS[type as keyof typeof GROUPS];
  if (group === undefined || from === undefined || to === undefined) return counts;
  return { ...counts, [group]: moved(counts[group] as unknown as Counts, from, to) };
}

/** Counts with a new instance. The event does not name its leading mode. */
function countsWith(
  counts: FleetCounts,
  { stress_state: stress, drift_level: drift }: AccountEvent,
): FleetCounts {
  const more = (group: object, name: string | undefined): object => {
    const before = group as Counts;
    return name === undefined ? before : { ...before, [name]: (before[name] ?? 0) + 1 };
  };
  return {
    ...counts,
    total: counts.total + 1,
    stress_states: more(counts.stress_states, stress) as FleetCounts['stress_states'],
    drift_levels: more(counts.drift_levels, drift) as FleetCounts['drift_levels'],
  };
}

function moved(counts: Counts, from: string, to: string): Counts {
  const next: Record<string, number> = { ...counts };
  next[from] = Math.max(0, (next[from] ?? 0) - 1);
  next[to] = (next[to] ?? 0) + 1;
  return next;
}

/** A row after an event of its instance. */
export function rowAfter(row: ListedInstance, event: AccountEvent): ListedInstance {
  const { stress_state, drift_level, type, to, occurred_at, cycle } = event;
  const isMode = type === 'mode_changed' && LEADING_MODES.some((mode) => mode === to);
  return {
    ...row,
    cycle_count: cycle,
    ...(stress_state === undefined ? {} : { stress_state }),
    ...(drift_level === undefined ? {} : { drift_level }),
    ...(isMode ? { dominant_mode: to as NonNullable<ListedInstance['dominant_mode']> } : {}),
    ...(type === 'mode_changed' ? {} : { changed_at: occurred_at }),
  };
}
