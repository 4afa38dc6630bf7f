import type { PlanningCommand } from '#ctl/command';
import { releaseOf } from '#platform/release';

/** `ctl version`: the release of this program. */
export const VERSION: PlanningCommand = {
  kind: 'planning',
  words: ['version'],
  summary: 'show the release of this program',
  description: 'Shows the release of this program and of its runtime.',
  args: [],
  options: {},
  run() {
    const data = { release: releaseOf(), runtime: process.version };
    return { data, text: `identity-engine ${data.release} (Node.js ${data.runtime})` };
  },
};
