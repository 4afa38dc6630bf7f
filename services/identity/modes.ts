/** The seven modes as contracts display them, in the order every vector here follows. */
export const MODE_NAMES = [
  'Perception',
  'Exploration',
  'Order',
  'Assertion',
  'Connection',
  'Identity',
  'Stress_Response',
] as const;
/** One mode as a contract displays it. */
export type ModeName = (typeof MODE_NAMES)[number];

/** One mode as a request names it. Source: interface 2.3. */
export type ModeTarget = Uppercase<ModeName>;
/** The same modes as requests name them. */
export const MODE_TARGETS: readonly ModeTarget[] = MODE_NAMES.map(
  (name) => name.toUpperCase() as ModeTarget,
);

/** One mode as a key of `mode_strengths`, and as drift answers name it. Source: interface 2.3. */
export type ModeKey = Lowercase<ModeName>;
/** The same modes as keys. */
export const MODE_KEYS: readonly ModeKey[] = MODE_NAMES.map(
  (name) => name.toLowerCase() as ModeKey,
);

/** Length of every vector over the modes. Source: interface 2.3. */
export const MODE_COUNT = 7;

/** Position of `identity`: a home high in it recovers from stress faster. Source: model 2.2. */
export const IDENTITY = 5;

/** Position of `stress_response`, the one mode that is read as stress itself. Source: model 2.4. */
export const STRESS_RESPONSE = 6;
