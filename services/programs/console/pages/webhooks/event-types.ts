import { FREQUENT_TYPES, TRANSITIONS, type TransitionType } from '#identity/transitions';

/** Types of events with their titles and explanations, in the order of the API. */
export const EVENT_TYPES: Readonly<Record<TransitionType, readonly [title: string, text: string]>> =
  {
    created: ['Created', 'A call created an instance.'],
    renamed: ['Renamed', 'A call changed the name or the description.'],
    reset: ['Reset', 'A call reset an instance. A new generation began.'],
    deleted: ['Deleted', 'A call deleted an instance.'],
    rolled_back: ['Rolled back', 'An observation was rolled back, because the drift reached D3.'],
    drift_changed: ['Drift changed', 'The drift level moved, for example from D0 to D1.'],
    stress_changed: ['Stress changed', 'The stress state moved, for example from LOW to MED.'],
    contract_changed: [
      'Contract changed',
      'Actions entered or left the lists of allowed and forbidden actions. Frequent.',
    ],
    mode_changed: ['Leading mode changed', 'Another mode leads the instance. Frequent.'],
  };

/** Types that the API sends unless a call asks for others. */
export const USUAL_TYPES: readonly TransitionType[] = TRANSITIONS.filter(
  (type) => !FREQUENT_TYPES.has(type),
);

/** Known types among texts, in the order of the API. */
export function typesIn(texts: readonly string[]): readonly TransitionType[] {
  return TRANSITIONS.filter((type) => texts.includes(type));
}

/** Title of a type. A type of a later release is shown unchanged. */
export function typeTitle(type: string): string {
  return EVENT_TYPES[type as TransitionType]?.[0] ?? type;
}

/** Types of an endpoint in words. */
export function typesText(types: readonly string[]): string {
  if (types.length === TRANSITIONS.length) return 'All types';
  if (types.join() === USUAL_TYPES.join()) return 'All types except the frequent ones';
  return types.map(typeTitle).join(', ');
}
