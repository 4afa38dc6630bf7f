import type { Instance, ModeStrengths } from '#clients/typescript/src/models';

/** The seven modes in the order of the model: key and display name. */
export const MODES = [
  ['perception', 'Perception'],
  ['exploration', 'Exploration'],
  ['order', 'Order'],
  ['assertion', 'Assertion'],
  ['connection', 'Connection'],
  ['identity', 'Identity'],
  ['stress_response', 'Stress response'],
] as const;

/** Version of the model that advances an instance. */
export function modelVersionOf({ model_version: version = '1.0' }: Instance): string {
  return version;
}

/** Mode values in `MODES` order. */
export function valuesOf(strengths: ModeStrengths): number[] {
  return MODES.map(([key]) => strengths[key]);
}
