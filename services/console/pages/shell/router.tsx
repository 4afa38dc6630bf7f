import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Where the browser is: a path, and its query from the `?` on. */
type Location = { readonly path: string; readonly query: string };

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

type LinkProps = {
  readonly to: string;
  readonly class?: string;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
};

/** A link to another page of the console, which needs no load; modified clicks are the browser's. */
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
 * The frame of a page: it names the document, and takes the focus to its heading, so that a page that
 * was changed without a load is read out.
 */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Identity Engine`;
    heading.current?.focus();
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
