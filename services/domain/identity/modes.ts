/** The seven modes in contract spelling. All model vectors use this order. */
export const MODE_NAMES = [
  'Perception',
  'Exploration',
  'Order',
  'Assertion',
  'Connection',
  'Identity',
  'Stress_Response',
] as const;
/** A mode in contract spelling. */
export type ModeName = (typeof MODE_NAMES)[number];

/** A mode in request spelling. Source: interface 2.3. */
export type ModeTarget = Uppercase<ModeName>;
/** The seven modes in request spelling. */
export const MODE_TARGETS: readonly ModeTarget[] = MODE_NAMES.map(
  (name) => name.toUpperCase() as ModeTarget,
);

/** A mode as key in `mode_strengths` and drift answers. Source: interface 2.3. */
export type ModeKey = Lowercase<ModeName>;
/** The seven modes as keys. */
export const MODE_KEYS: readonly ModeKey[] = MODE_NAMES.map(
  (name) => name.toLowerCase() as ModeKey,
);

/** Number of modes, which is the length of every model vector. Source: interface 2.3. */
export const MODE_COUNT = 7;

/**
 * Position of `identity`. A strong home in this mode speeds up stress recovery. Source: model 2.2.
 */
export const IDENTITY = 5;

/** Position of `stress_response`, the mode whose readings measure stress. Source: model 2.4. */
export const STRESS_RESPONSE = 6;
