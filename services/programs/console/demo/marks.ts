/** Tag of the instances of a demonstration, and of their forks. */
export const DEMO_TAG = ['demo', 'sample week'] as const;

/** Whether an instance belongs to a demonstration. */
export function isDemo(tags: Readonly<Record<string, string>>): boolean {
  const [key, value] = DEMO_TAG;
  return tags[key] === value;
}
