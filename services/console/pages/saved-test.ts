import type { Questionnaire } from '#pages/instance-answers';

/** Answers by the ids of their questions. */
export type TestAnswers = Readonly<Record<string, number>>;

/** Where the answers of a user in an account are kept in the browser. */
export const testKey = (accountId: string, userId: string): string =>
  `personality-test:${accountId}:${userId}`;

/**
 * The answers that the browser has kept, none if it has none. Answers to another version of the test, or
 * that the test does not take, do not count.
 */
export function savedAnswers(
  key: string,
  { version, scale, questions }: Questionnaire,
): TestAnswers {
  const saved = parsed(read(key));
  if (saved?.version !== version) return {};
  const isTaken = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= scale.min && Number(value) <= scale.max;
  const known = questions
    .map(({ id }) => [id, saved.answers?.[id]] as const)
    .filter(([, value]) => isTaken(value));
  return Object.fromEntries(known) as TestAnswers;
}

/** Keeps answers in the browser. One that keeps nothing asks all questions again after a load. */
export function saveAnswers(key: string, version: string, answers: TestAnswers): void {
  try {
    localStorage.setItem(key, JSON.stringify({ version, answers }));
  } catch {
    // Switched off or full: the page goes on with what it has in memory.
  }
}

/** Has the browser forget the answers. */
export function forgetAnswers(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // What is switched off has kept nothing.
  }
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

type Saved = { readonly version?: unknown; readonly answers?: Readonly<Record<string, unknown>> };

function parsed(text: string | null): Saved | undefined {
  try {
    return (JSON.parse(text ?? 'null') as Saved | null) ?? undefined;
  } catch {
    return undefined;
  }
}
