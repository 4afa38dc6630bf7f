import type { Command, PlanningCommand } from '#ctl/command';

/** Options of every command. */
const GENERAL = ['--json', '--timeout', '--help'];

/** Lets zsh run completion scripts written for bash. */
const ZSH_LINE = 'autoload -U +X bashcompinit && bashcompinit';

/**
 * `ctl completion`: prints a shell script that completes commands, options and their values. The
 * word lists are part of the script, so completion is instant and needs no service.
 */
export function completionCommand(commands: () => readonly Command[]): PlanningCommand {
  return {
    kind: 'planning',
    words: ['completion'],
    summary: 'print a script that completes commands in a shell',
    description:
      'Prints a script with which bash or zsh completes commands, options and values. Add `source <(ctl completion bash)` to the start-up file of your shell. `ctl` must be a function or a program: zsh expands an alias before completion.',
    args: [{ name: 'shell', about: 'the shell', choices: ['bash', 'zsh'] }],
    options: {},
    run(_values, [shell] = []) {
      const script = scriptOf(commands());
      const text = shell === 'zsh' ? `${ZSH_LINE}\n${script}` : script;
      return { data: { shell, script: text }, text };
    },
  };
}

function scriptOf(commands: readonly Command[]): string {
  const wordsAt = new Map<string, Set<string>>();
  const add = (path: string, ...words: readonly string[]) => {
    const known = wordsAt.get(path) ?? new Set();
    for (const word of words) known.add(word);
    wordsAt.set(path, known);
  };
  const values: string[] = [];
  add('', ...GENERAL, 'help');
  for (const command of commands) {
    const path = command.words.join(' ');
    for (const [index, word] of command.words.entries()) {
      add(command.words.slice(0, index).join(' '), word);
    }
    const options = Object.keys(command.options).map((name) => `--${name}`);
    const [argument] = command.args;
    add(path, ...options, ...GENERAL, ...(argument?.choices ?? []));
    if (command.kind === 'account') add(path, '--admin');
    for (const [name, { choices }] of Object.entries(command.options)) {
      if (choices !== undefined) values.push(caseOf(`${path} --${name}`, choices));
    }
  }
  const paths = [...wordsAt.keys()].filter((path) => path !== '');
  return `_ctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local path='' words='' index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${path:+$path }\${COMP_WORDS[index]}" in
      ${paths.map((path) => `'${path}'`).join(' | ')})
        path="\${path:+$path }\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$path" in
${[...wordsAt].map(([path, words]) => caseOf(path, [...words])).join('\n')}
  esac
  case "$path $previous" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _ctl ctl`;
}

/** `case` branch that sets the candidate words. */
function caseOf(pattern: string, words: readonly string[]): string {
  return `    '${pattern}') words='${words.join(' ')}' ;;`;
}
