/** How often a retired word is left in folders that are not done; the numbers only shrink. */
export const LEFT: Readonly<Record<string, number>> = {
  tell: 87,
  owed: 1,
  nobody: 114,
  anew: 8,
  motions: 2,
  ours: 3,
  ground: 1,
  settle: 10,
  still: 3,
  gone: 1,
  operation: 4,
  'so many': 4,
  wish: 5,
  'hand-over': 1,
  warm: 4,
};
