/** The seven modes as a request names them, in the order every vector here follows. Interface 2.3. */
export const MODE_TARGETS = [
  'PERCEPTION',
  'EXPLORATION',
  'ORDER',
  'ASSERTION',
  'CONNECTION',
  'IDENTITY',
  'STRESS_RESPONSE',
] as const;
/** One mode as a request names it. */
export type ModeTarget = (typeof MODE_TARGETS)[number];

/** The same modes as keys of `mode_strengths` and as names in drift answers. Source: interface 2.3. */
export const MODE_KEYS = [
  'perception',
  'exploration',
  'order',
  'assertion',
  'connection',
  'identity',
  'stress_response',
] as const;
/** One mode as a key. */
export type ModeKey = (typeof MODE_KEYS)[number];

/** The same modes as contracts display them; lower-casing gives the key back. Decision 30. */
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

/** Length of every vector over the modes. Source: interface 2.3. */
export const MODE_COUNT = 7;

/** Position of `identity`: a home high in it recovers from stress faster. Source: model 2.2. */
export const IDENTITY = 5;

/** Position of `stress_response`, the one mode that is read as stress itself. Source: model 2.4. */
export const STRESS_RESPONSE = 6;
