import type { Start, Usage } from '#console/answers';
import { get, send } from '#pages/shell/api';

/** Header of a request that no person started. The request does not extend the session. */
const UNATTENDED = { 'x-unattended': 'true' } as const;

const unattended = async <Data>(path: string): Promise<Data> =>
  (await send<{ data: Data }>('GET', path, undefined, UNATTENDED)).data;

/** Calls of the overview. */
export const startApi = {
  start: () => get<Start>('/start'),
  startAgain: () => unattended<Start>('/start'),
  usage: () => get<Usage>('/usage'),
  usageAgain: () => unattended<Usage>('/usage'),
};
