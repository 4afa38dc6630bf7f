import { signal } from '@preact/signals';

/** Where the browser is: a path, and its query from the `?` on. */
export type Location = { readonly path: string; readonly query: string };

/** What an entry link brings: kept in memory only, and taken out of the address at once. */
export type EntryLink = { readonly kind: 'set-up' | 'invitation'; readonly token: string };

const ENTRY = /^#\/(set-up|invitation)\/([\w.]+)$/;

const current = (): Location => ({ path: location.pathname, query: location.search });

/** Where the browser is now. */
export const here = signal<Location>(current());

/** The link that the browser was opened with, until it was used or left. */
export const entryLink = signal<EntryLink | undefined>(undefined);

/** Follows the buttons of the browser, and looks whether it came by an entry link. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    here.value = current();
  });
  addEventListener('hashchange', takeEntryLink);
  takeEntryLink();
}

/**
 * Goes to another page, or to the same one with another query. `replace`: the button back of the browser
 * does not lead to where it was.
 */
export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  if (to === location.pathname + location.search) return;
  history[`${how}State`](undefined, '', to);
  here.value = current();
}

function takeEntryLink(): void {
  const [, kind, token] = ENTRY.exec(location.hash) ?? [];
  if (token === undefined || !(kind === 'set-up' || kind === 'invitation')) return;
  // Neither a bookmark nor someone who looks over a shoulder gets the value of the link.
  history.replaceState(undefined, '', '/');
  here.value = current();
  entryLink.value = { kind, token };
}
