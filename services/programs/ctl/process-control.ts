import { z } from 'zod';
import { type AccountCommand, type PlanningCommand, UsageError } from '#ctl/command';
import { wholeUpTo } from '#ctl/command-line';
import { table } from '#ctl/printed-text';
import { PROFILE_SECONDS_MAX } from '#limiter/admin/routes';
import { releaseOf } from '#stdlib/release';
import { LOG_LEVELS } from '#telemetry/logger';

const ProcessView = z.looseObject({
  role: z.string(),
  node: z.string(),
  release: z.string(),
  pid: z.number(),
  runtime: z.string(),
  log_level: z.string(),
  configuration: z.record(z.string(), z.unknown()),
});
const LevelView = z.object({ log_level: z.string() });
const FileView = z.object({ file: z.string(), ready_in_s: z.number() });

/** Commands for the running process behind an admin port. */
export const PROCESS_COMMANDS: readonly AccountCommand[] = [
  {
    kind: 'account',
    words: ['process', 'show'],
    summary: 'show release, log level and configuration of the process',
    description:
      'Shows the process behind the admin port: its release, log level, and effective configuration without secrets.',
    args: [],
    options: {},
    async run(admin) {
      const data = await admin.ask(ProcessView, 'GET', '/process');
      const { configuration, ...facts } = data;
      const rows = [...Object.entries(facts), ...Object.entries(configuration)];
      const text = table(
        ['NAME', 'VALUE'],
        rows.map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      );
      return { data, text };
    },
  },
  {
    kind: 'account',
    words: ['process', 'log-level'],
    summary: 'change the log level of the process',
    description:
      'Changes the log level of the process behind the admin port until the process ends.',
    args: [{ name: 'level', about: 'least severe level that is logged', choices: LOG_LEVELS }],
    options: {},
    async run(admin, [level = '']) {
      const data = await admin.ask(LevelView, 'PUT', '/process/log-level', { level });
      return { data, text: `The log level is ${data.log_level} until the process ends.` };
    },
  },
  {
    kind: 'account',
    words: ['process', 'cpu-profile'],
    summary: 'take a CPU profile of the process',
    description: `Takes a CPU profile of the process behind the admin port, for 10 seconds or \`--seconds\` (up to ${PROFILE_SECONDS_MAX}). Prints the path of the profile on the machine of the process.`,
    args: [],
    options: {
      seconds: {
        ...{ value: 'n', about: 'duration in seconds (default 10)' },
        faultOf: wholeUpTo(PROFILE_SECONDS_MAX),
      },
    },
    async run(admin, _args, { seconds = '10' }) {
      const body = { seconds: Number(seconds) };
      const data = await admin.ask(FileView, 'POST', '/process/cpu-profile', body);
      return { data, text: `In ${data.ready_in_s} s the profile will be in ${data.file}.` };
    },
  },
  {
    kind: 'account',
    words: ['process', 'heap-snapshot'],
    summary: 'write a heap snapshot of the process',
    description:
      'Writes the heap of the process behind the admin port to a file on its machine. The file contains all secrets of the process. The process pauses meanwhile, so drain a cluster node first. Needs `--yes`.',
    args: [],
    options: { yes: { about: 'confirm that the process may pause' } },
    async run(admin, _args, { yes }) {
      if (yes !== true) {
        throw new UsageError('the snapshot pauses the process: add --yes to confirm');
      }
      const data = await admin.ask(FileView, 'POST', '/process/heap-snapshot', {});
      return { data, text: `The snapshot contains secrets: ${data.file}. Remove it after use.` };
    },
  },
];

/** `ctl version`: shows the release of this program. */
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
