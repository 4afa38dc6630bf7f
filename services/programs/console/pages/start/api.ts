import { type DemoFleet, STEPS, type Start, type Step, type Usage } from '#console/answers';
import { get, post, send } from '#pages/shell/api';

/** Header of a request that no person started. The request does not extend the session. */
const UNATTENDED = { 'x-unattended': 'true' } as const;

const unattended = async <Data>(path: string): Promise<Data> =>
  (await send<{ data: Data }>('GET', path, undefined, UNATTENDED)).data;

/** Calls of the overview. */
export const startApi = {
  start: () => get<Start>('/start'),
  startAgain: () => unattended<Start>('/start'),
  demo: () => get<DemoFleet>('/demo-fleet'),
  /** Loads the demonstration, or the rest of an interrupted load. */
  loadDemo: () => post<DemoFleet>('/demo-fleet'),
  removeDemo: async () => (await send<{ data: DemoFleet }>('DELETE', '/demo-fleet')).data,
  usage: () => get<Usage>('/usage'),
  usageAgain: () => unattended<Usage>('/usage'),
};

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
