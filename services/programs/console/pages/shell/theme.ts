import { effect, signal } from '@preact/signals';

/** Colour themes, with display texts. */
export const THEMES = [
  ['system', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

type Theme = (typeof THEMES)[number][0];

/** Name of the stored theme. A browser keeps one theme for all accounts. */
const STORED_AS = 'theme';

/** The chosen theme. */
export const theme = signal<Theme>('system');

/** Theme with this name. Unknown names mean the theme of the system. */
export function themeNamed(name: string | null): Theme {
  return THEMES.find(([each]) => each === name)?.[0] ?? 'system';
}

/** Reads the stored theme, and applies and stores each change. */
export function startTheme(): void {
  theme.value = themeNamed(localStorage.getItem(STORED_AS));
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    if (theme.value === 'system') localStorage.removeItem(STORED_AS);
    else localStorage.setItem(STORED_AS, theme.value);
  });
}

/** Calls `act` after each change of the colours. Returns a function that stops the calls. */
export function onColours(act: () => void): () => void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', act);
  const stop = theme.subscribe(() => queueMicrotask(act));
  return () => {
    scheme.removeEventListener('change', act);
    stop();
  };
}
