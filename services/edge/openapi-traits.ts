import type { Operation } from '#edge/operation';

/** Whether an operation advances cycles and so costs quota. Source: spec 1.5. */
export function isBilled({ name }: Operation): boolean {
  return name === 'processObservation' || name === 'processBatch';
}

/** Whether the edge answers an operation itself, without an engine. */
export function isLocal({ tag }: Operation): boolean {
  return tag === 'Test' || tag === 'Personas';
}
