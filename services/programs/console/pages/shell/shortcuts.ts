import { signal } from '@preact/signals';
import type { Permission } from '#console/answers';
import { may } from '#pages/shell/session';

/** Panel of the keyboard that is open. */
export const panel = signal<'palette' | 'help' | undefined>(undefined);

/** Action of a shortcut. */
type Act =
  | { readonly to: string }
  | { readonly panel: 'palette' | 'help' }
  | { readonly search: true };

/** A shortcut: one key, or two keys in sequence. */
type Shortcut = {
  readonly keys: readonly [string] | readonly [string, string];
  readonly text: string;
  readonly act: Act;
  readonly needs?: Permission;
};

/** All shortcuts without a modifier key. */
const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['/'], text: 'Search', act: { search: true } },
  {
    keys: ['c'],
    text: 'Create an instance',
    act: { to: '/instances/new' },
    needs: 'instances.write',
  },
  { keys: ['g', 'f'], text: 'Go to the fleet', act: { to: '/fleet' }, needs: 'instances.read' },
  { keys: ['g', 'o'], text: 'Go to the overview', act: { to: '/overview' } },
  { keys: ['g', 'k'], text: 'Go to the API keys', act: { to: '/keys' }, needs: 'keys.read' },
  {
    keys: ['g', 'w'],
    text: 'Go to the webhooks',
    act: { to: '/webhooks' },
    needs: 'instances.read',
  },
  { keys: ['g', 'u'], text: 'Go to the usage', act: { to: '/usage' }, needs: 'usage.read' },
  { keys: ['g', 'm'], text: 'Go to the members', act: { to: '/members' }, needs: 'members' },
  { keys: ['g', 'a'], text: 'Go to the audit trail', act: { to: '/audit' }, needs: 'audit.read' },
  { keys: ['?'], text: 'Show the shortcuts', act: { panel: 'help' } },
];

/** Shortcuts that the user's role allows. */
export const allowedShortcuts = (): readonly Shortcut[] =>
  SHORTCUTS.filter(({ needs }) => needs === undefined || may(needs));

/** Maximum time between the two keys of a sequence, in milliseconds. */
const SEQUENCE_MS_MAX = 1_500;

/** Name of the stored setting. Keys alone disturb people who dictate, so they can be turned off. */
const STORED_AS = 'shortcuts';

/** Whether shortcuts without a modifier key are on. */
export const areShortcutsOn = signal(localStorage.getItem(STORED_AS) !== 'off');

/** Turns shortcuts without a modifier key on or off, in this browser. */
export function turnShortcuts(isOn: boolean): void {
  areShortcutsOn.value = isOn;
  localStorage.setItem(STORED_AS, isOn ? 'on' : 'off');
}

/**
 * Follows the keys of the document until the returned function is called. `perform` gets the action
 * of each shortcut. Typed text and open dialogs keep their keys; Ctrl K and ⌘ K open the palette
 * unless a dialog is open.
 */
export function followKeys(perform: (act: Act) => void): () => void {
  let first: Typed | undefined;
  const pressed = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return;
    const act = isPaletteKey(event) ? ({ panel: 'palette' } as const) : shortcut(event)?.act;
    if (act === undefined) return;
    event.preventDefault();
    perform(act);
  };
  const shortcut = (event: KeyboardEvent): Shortcut | undefined => {
    const { key, timeStamp, target, ctrlKey, metaKey, altKey } = event;
    const isPlain = !(ctrlKey || metaKey || altKey);
    if (!areShortcutsOn.value || !isPlain || isTyping(target)) return undefined;
    const isSequence = first !== undefined && timeStamp - first.atMs < SEQUENCE_MS_MAX;
    const found = (isSequence ? matchOf([first?.key ?? '', key]) : undefined) ?? matchOf([key]);
    first = found === undefined ? { key, atMs: timeStamp } : undefined;
    return found;
  };
  addEventListener('keydown', pressed);
  return () => removeEventListener('keydown', pressed);
}

/** First key of a sequence, with its time. */
type Typed = { readonly key: string; readonly atMs: number };

const isPaletteKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey && !shiftKey;

/** Whether an element takes typed text. A table takes keys for its rows, but no letters. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !NOT_TYPED.includes(target.type);
}

const NOT_TYPED = ['checkbox', 'radio', 'button', 'range'];

function matchOf(typed: readonly string[]): Shortcut | undefined {
  return allowedShortcuts().find(({ keys }) => keys.join(' ') === typed.join(' '));
}
