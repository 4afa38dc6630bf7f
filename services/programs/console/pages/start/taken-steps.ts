import { STEPS, type Start, type Step } from '#console/answers';

/**
 * The first steps with the steps that this browser has seen done. A step stays done: the last use of
 * a key names only the newest client, so a later call would open the last step again.
 */
export function withTaken(start: Start, accountId: string): Start {
  const name = `first-steps:${accountId}`;
  const before = (localStorage.getItem(name) ?? '').split(' ');
  const isTaken = (step: Step) => start.steps[step] || before.includes(step);
  const taken = STEPS.filter(isTaken);
  localStorage.setItem(name, taken.join(' '));
  const steps = Object.fromEntries(STEPS.map((step) => [step, isTaken(step)]));
  return { ...start, steps: steps as Start['steps'] };
}
