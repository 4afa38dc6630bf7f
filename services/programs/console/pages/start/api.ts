import type { DemoFleet, Start, Usage } from '#console/answers';
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
