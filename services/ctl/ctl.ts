import { parseArgs } from 'node:util';
import { adminClient, CtlError } from '#ctl/admin-client';
import { COMMANDS, type Options } from '#ctl/commands';

/** Where a command prints and which service it talks to unless told otherwise. */
export type CtlIo = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly adminUrl: string;
};

const OPTIONS = {
  admin: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  plan: { type: 'string' },
  scope: { type: 'string' },
  expires: { type: 'string' },
  'requests-per-minute': { type: 'string' },
  'cycles-per-month': { type: 'string' },
} as const;

/** Runs one command (`argv` without program and script). Fulfils with the exit code, never rejects. */
export async function runCtl(argv: readonly string[], io: CtlIo): Promise<number> {
  try {
    const { values, positionals } = parsed(argv);
    if (values.help || positionals.length === 0) {
      io.out(usageText());
      return 0;
    }
    const command = COMMANDS.find(({ words }) => words.every((word, i) => positionals[i] === word));
    if (command === undefined) {
      throw new CtlError(`there is no command "${positionals.join(' ')}"; see "ctl --help"`);
    }
    const args = positionals.slice(command.words.length);
    if (args.length !== command.args.length) {
      throw new CtlError(`usage: ctl ${synopsis(command)}`);
    }
    assertTaken(command.options, values, synopsis(command));
    const admin = adminClient(values.admin ?? io.adminUrl);
    const { data, text } = await command.run(admin, args, values);
    io.out(values.json ? JSON.stringify(data, undefined, 2) : text);
    return 0;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    io.err(`ctl: ${text.replaceAll('\n', ' ')}`);
    return 1;
  }
}

/** All commands with what they take, one a line. */
function usageText(): string {
  const lines = COMMANDS.map((command) => `  ctl ${synopsis(command)}`);
  const general = '  every command: --json for machines, --admin <url> for another service';
  return ['Administers the accounts of a running service.', '', ...lines, '', general].join('\n');
}

function synopsis(command: (typeof COMMANDS)[number]): string {
  const options = Object.entries(command.options).map(([name, value]) => `[--${name} ${value}]`);
  return [...command.words, ...command.args.map((arg) => `<${arg}>`), ...options].join(' ');
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const text = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new CtlError(`${text}; see "ctl --help"`, { cause: error });
  }
}

function assertTaken(taken: Options, values: object, usage: string): void {
  for (const name of Object.keys(values)) {
    const isGeneral = name === 'admin' || name === 'json';
    if (!isGeneral && !(name in taken)) {
      throw new CtlError(`this command takes no --${name}; usage: ctl ${usage}`);
    }
  }
}
