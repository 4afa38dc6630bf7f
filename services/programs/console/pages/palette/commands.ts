import type { ListedInstance } from '#clients/typescript/src/models';
import type { Me } from '#console/answers';
import { instanceAddress } from '#pages/fleet/view';
import { may, signOut } from '#pages/shell/session';
import { panel } from '#pages/shell/shortcuts';
import { THEMES, theme } from '#pages/shell/theme';
import { wantDialog } from '#pages/shell/wanted';

/** A command of the palette. */
export type Command = {
  readonly id: string;
  readonly group: 'Pages' | 'Actions' | 'Instances';
  readonly text: string;
  /** Further text that the search does not read. */
  readonly more?: string;
  /** Further words that the search finds. */
  readonly words?: string;
  readonly run: () => void;
};

/** Goes to an address of the console. */
type Go = (to: string) => void;

/** Pages and actions that the user's role allows. `pages` are the entries of the navigation. */
export function commandsFor(
  me: Me,
  pages: readonly (readonly [path: string, text: string])[],
  go: Go,
): readonly Command[] {
  return [
    ...pages.map(([path, text]) => ({
      ...{ id: `page ${path}`, group: 'Pages' as const, text },
      run: () => go(path),
    })),
    ...actionsFor(me, go),
  ];
}

function actionsFor({ api_docs_url: docs }: Me, go: Go): Command[] {
  const action = (text: string, run: () => void, words = ''): Command => ({
    ...{ id: `action ${text}`, group: 'Actions', text, words, run },
  });
  const withDialog = (path: string, dialog: Parameters<typeof wantDialog>[0]) => () => {
    wantDialog(dialog);
    go(path);
  };
  return [
    ...(may('instances.write')
      ? [
          action('Create an instance', () => go('/instances/new'), 'new agent persona'),
          action('Add a webhook endpoint', () => go('/webhooks/new'), 'new create events'),
          action('Take the personality test', () => go('/instances/test'), 'questions'),
        ]
      : []),
    ...(may('keys.write')
      ? [action('Create an API key', withDialog('/keys', 'create-key'), 'new token secret')]
      : []),
    ...(may('members')
      ? [action('Invite a member', withDialog('/members', 'invite-member'), 'user person add')]
      : []),
    ...(docs === undefined
      ? []
      : [action('Open the API documentation', () => void open(docs, '_blank', 'noreferrer'))]),
    ...THEMES.map(([name, text]) =>
      action(
        `Theme: ${text.toLowerCase()}`,
        () => {
          theme.value = name;
        },
        'colours dark mode',
      ),
    ),
    action(
      'Show the keyboard shortcuts',
      () => {
        panel.value = 'help';
      },
      'help keys',
    ),
    action('Sign out', () => void signOut(), 'log out leave'),
  ];
}

/** Command that opens an instance. */
export function commandOf({ id, name }: Pick<ListedInstance, 'id' | 'name'>, go: Go): Command {
  return {
    ...{ id: `instance ${id}`, group: 'Instances', text: name, more: id },
    run: () => go(instanceAddress(id)),
  };
}

/** Commands whose text or words contain every word of `typed`, in any case. */
export function matching(commands: readonly Command[], typed: string): readonly Command[] {
  const wanted = typed.toLowerCase().split(/\s+/);
  return commands.filter(({ text, words = '' }) => {
    const all = `${text} ${words}`.toLowerCase();
    return wanted.every((word) => all.includes(word));
  });
}
