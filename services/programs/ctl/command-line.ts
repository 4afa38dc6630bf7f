import {
  Argument,
  Command as CliCommand,
  CommanderError,
  Help,
  InvalidArgumentError,
  Option,
} from 'commander';
import { type ArgSpec, type Command, type OptionSpec, UsageError, type Values } from '#ctl/command';

/** A command line that was parsed successfully. */
export type Chosen = {
  readonly kind: 'command';
  readonly command: Command;
  readonly args: readonly string[];
  readonly values: Values & GeneralValues;
};

/** Options of every command. `admin` belongs to commands that use the admin port. */
type GeneralValues = { readonly admin?: string; readonly timeout?: string };

/** Help text. `isAsked` is false if the user named only a group of commands. */
type HelpText = { readonly kind: 'help'; readonly text: string; readonly isAsked: boolean };

/** Help text width, in columns, if the terminal does not report its width. */
const HELP_COLUMNS = 100;

/** Maximum of `--timeout`, in seconds (one day). */
const TIMEOUT_S_MAX = 86_400;

const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'Accounts: plans, limits, status',
  keys: 'API keys of an account',
  usage: 'Account usage',
  audit: 'Audit trail of an account',
  users: 'People who sign in to the console',
  feed: 'Feed of an account',
  webhooks: 'Webhook endpoints of an account',
  retention: 'How long history is kept',
};

/** Headings in the help text, by kind of command. */
const HEADINGS: Readonly<Record<Command['kind'], string>> = {
  account: 'Accounts of a running service, through its admin port (--admin <url>):',
  cluster: 'A cluster or a data file, with the SERVICE_ variables of its processes:',
  file: 'The data file of SERVICE_STORAGE=sqlite:',
  stores: 'Stores that no process serves (place: cassandra[:keyspace] or sqlite:file):',
  planning: 'No service needed:',
};

/** Parses a command line. Throws a one-line `UsageError` that explains what is wrong. */
export function readCommandLine(
  argv: readonly string[],
  commands: readonly Command[],
): Chosen | HelpText {
  let chosen: Chosen | undefined;
  let text = '';
  const program = programOf(commands, (one) => {
    chosen = one;
  });
  const write = (more: string) => {
    text += more;
  };
  // Commander writes each error and also throws it, so the written text is dropped.
  for (const one of allOf(program)) one.configureOutput({ ...OUTPUT, writeOut: write });
  if (argv.length === 0) {
    return { kind: 'help', text: program.helpInformation().trimEnd(), isAsked: true };
  }
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: 'help', text: text.trimEnd(), isAsked: true };
    const named = commandOfError(error);
    if (error.code === 'commander.help') {
      return { kind: 'help', text: named.helpInformation().trimEnd(), isAsked: false };
    }
    const reason = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
    throw new UsageError(`${reason.replace(/\.$/, '')}; see "${pathOf(named)} --help"`, {
      cause: error,
    });
  }
  if (chosen === undefined) throw new Error('commander ran no command');
  return chosen;
}

/** Usage text after `ctl`: words, arguments and options. Optional options are in brackets. */
export function synopsis({ words, args, options }: Command): string {
  const named = Object.entries(options).map(([name, spec]) => {
    const text = `--${name} ${placeholderOf(spec)}`.trim();
    return spec.isRequired ? text : `[${text}]`;
  });
  return [...words, ...args.map(({ name }) => `<${name}>`), ...named].join(' ');
}

function placeholderOf({ choices, value }: OptionSpec): string {
  return choices?.join('|') ?? value ?? '';
}

const OUTPUT = {
  writeErr: () => undefined,
  getOutHelpWidth: () => process.stdout.columns ?? HELP_COLUMNS,
  getErrHelpWidth: () => process.stderr.columns ?? HELP_COLUMNS,
  // Colors are off: names and descriptions are plain text.
  getOutHasColors: () => false,
  getErrHasColors: () => false,
};

/** Commander error with the command that threw it. */
class NamedCommanderError extends CommanderError {
  readonly command: CliCommand;

  constructor(error: CommanderError, command: CliCommand) {
    super(error.exitCode, error.code, error.message);
    this.command = command;
  }
}

function commandOfError(error: CommanderError): CliCommand {
  if (error instanceof NamedCommanderError) return error.command;
  throw error;
}

function programOf(commands: readonly Command[], choose: (chosen: Chosen) => void): CliCommand {
  const program = new CliCommand('ctl')
    .description('Administers Identity Engine. "ctl <command> --help" describes one command.')
    .option('--json', 'print JSON')
    .addOption(timeoutOption())
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command...]', 'show the help of a command');
  const leaves: CliCommand[] = [];
  for (const command of commands) {
    const leaf = nodeAt(program, command.words);
    describe(leaf, command, choose);
    leaves.push(leaf);
  }
  // `ctl --help` lists every command instead of a line per group.
  program.configureHelp({
    formatHelp(shown, helper) {
      if (shown === program) helper.visibleCommands = () => leaves;
      return Help.prototype.formatHelp.call(helper, shown, helper);
    },
    subcommandTerm: (shown) => termOf(shown),
    showGlobalOptions: true,
  });
  for (const one of allOf(program)) {
    one.copyInheritedSettings(program).exitOverride((error) => {
      throw new NamedCommanderError(error, one);
    });
  }
  return program;
}

/** Returns the node of the command tree at these words, and creates missing groups on the way. */
function nodeAt(program: CliCommand, words: readonly string[]): CliCommand {
  let node = program;
  for (const word of words) {
    const next =
      node.commands.find((one) => one.name() === word) ??
      node.command(word).description(GROUPS[word] ?? '');
    node = next;
  }
  return node;
}

function describe(leaf: CliCommand, command: Command, choose: (chosen: Chosen) => void): void {
  leaf.summary(command.summary).description(command.description).helpGroup(HEADINGS[command.kind]);
  for (const spec of command.args) leaf.addArgument(argumentOf(spec));
  for (const [name, spec] of Object.entries(command.options)) leaf.addOption(optionOf(name, spec));
  if (command.kind === 'account') leaf.option('--admin <url>', 'address of the admin port');
  leaf.action(() => {
    const values = namedAsTyped(leaf.optsWithGlobals());
    choose({ kind: 'command', command, args: leaf.args, values });
  });
}

function argumentOf({ name, about, choices, faultOf }: ArgSpec): Argument {
  const argument = new Argument(`<${name}>`, about);
  if (choices !== undefined) argument.choices(choices);
  if (faultOf !== undefined) argument.argParser(checkedBy(faultOf));
  return argument;
}

function optionOf(name: string, spec: OptionSpec): Option {
  const { value, about, choices, faultOf, isRequired = false } = spec;
  const option = new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, about);
  if (choices !== undefined) option.choices(choices);
  if (faultOf !== undefined) option.argParser(checkedBy(faultOf));
  return option.makeOptionMandatory(isRequired);
}

function timeoutOption(): Option {
  const about = 'stop after this time without progress (default 30)';
  const isTimeout = (text: string) => /^\d{1,5}$/.test(text) && Number(text) >= 1;
  return new Option('--timeout <seconds>', about).argParser(
    checkedBy((text) =>
      isTimeout(text) && Number(text) <= TIMEOUT_S_MAX
        ? undefined
        : `must be 1 to ${TIMEOUT_S_MAX} seconds`,
    ),
  );
}

/** Argument parser that returns the text unchanged and throws if `faultOf` finds a fault. */
function checkedBy(faultOf: (text: string) => string | undefined) {
  return (text: string): string => {
    const fault = faultOf(text);
    if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
    return text;
  };
}

/** Renames values to their option names: commander reports `--keyed-share` as `keyedShare`. */
function namedAsTyped(values: Record<string, unknown>): Values & GeneralValues {
  const dashed = (name: string) =>
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [dashed(name), value]));
}

/** Command line in the help: all command words and arguments. */
function termOf(shown: CliCommand): string {
  const words = pathOf(shown).replace(/^ctl /, '');
  const args = shown.registeredArguments.map(
    (argument) => `<${argument.name()}${argument.variadic ? '...' : ''}>`,
  );
  return [words, ...args].join(' ');
}

function pathOf(command: CliCommand): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function allOf(node: CliCommand): CliCommand[] {
  return [node, ...node.commands.flatMap(allOf)];
}

/* Arguments and options that several commands take. */

/** Argument of commands about one account. */
export const ACCOUNT: ArgSpec = { name: 'account', about: 'id of the account' };

/** Argument of commands about one API key. */
export const KEY_ID: ArgSpec = {
  name: 'key id',
  about: 'id of the key, as `ctl keys list` shows it',
};

/** Argument of commands about one instance. */
export const INSTANCE_ID: ArgSpec = { name: 'instance', about: 'id of the instance' };

/** `--yes` option of commands that ask for confirmation before they lose data. */
export const YES: OptionSpec = { about: 'do not ask for confirmation' };

/** `--service` option of commands that show all services by default. */
export const SERVICE_OPTION = {
  service: { value: 'kind', about: 'only nodes of this kind', choices: ['engine', 'limiter'] },
} as const satisfies Record<string, OptionSpec>;

/** Builds a check for whole numbers from 1 to `max`. */
export function wholeUpTo(max: number) {
  return (text: string): string | undefined =>
    /^\d{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= max
      ? undefined
      : `must be a whole number from 1 to ${max}`;
}
