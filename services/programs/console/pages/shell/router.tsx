import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Location of the browser: path, and query with its `?`. */
type Location = { readonly path: string; readonly query: string };

/**
 * Entry link. The page keeps the link in memory only, and removes it from the address immediately.
 */
export type EntryLink = { readonly kind: 'set-up' | 'invitation'; readonly token: string };

const ENTRY = /^#\/(set-up|invitation)\/([\w.]+)$/;

const current = (): Location => ({ path: location.pathname, query: location.search });

/** Present location. */
export const here = signal<Location>(current());

/** Entry link that the page was opened with. Undefined after the link was used or dismissed. */
export const entryLink = signal<EntryLink | undefined>(undefined);

/** Follows browser navigation, and reads an entry link from the address. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    here.value = current();
  });
  addEventListener('hashchange', takeEntryLink);
  takeEntryLink();
}

/**
 * Navigates to another page or query. With `replace`, the back button skips the present address.
 */
export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  if (to === location.pathname + location.search) return;
  history[`${how}State`](undefined, '', to);
  here.value = current();
}

function takeEntryLink(): void {
  const [, kind, token] = ENTRY.exec(location.hash) ?? [];
  if (token === undefined || !(kind === 'set-up' || kind === 'invitation')) return;
  // Removes the secret from the address bar, bookmarks and history.
  history.replaceState(undefined, '', '/');
  here.value = current();
  entryLink.value = { kind, token };
}

type LinkProps = {
  readonly to: string;
  readonly class?: string;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
};

/**
 * Client-side link. The browser handles clicks with a modifier key, for example to open a new tab.
 */
export function Link({ to, isCurrent = false, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a href={to} onClick={follow} aria-current={isCurrent ? 'page' : undefined} {...rest}>
      {children}
    </a>
  );
}

type PageProps = {
  readonly title: string;
  readonly lead?: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
};

/**
 * Page frame. Sets the document title and focuses the heading, so that screen readers announce the
 * page.
 */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isNew = useRef(true);
  useEffect(() => {
    document.title = `${title} · Identity Engine`;
    // A changed title, for example after a rename, leaves the focus where a person put it.
    if (isNew.current || document.activeElement === document.body) heading.current?.focus();
    isNew.current = false;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead === undefined ? null : <p class="lead">{lead}</p>}
        </div>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}
