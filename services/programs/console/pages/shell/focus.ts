/** Surroundings of an element when it got the focus. */
type Surroundings = {
  /** The element and its ancestors, innermost first. */
  readonly path: readonly Element[];
  /** Rows or list entries after and before the element's own, in order of preference. */
  readonly neighbours: readonly Element[];
};

const known = new WeakMap<Element, Surroundings>();

let last: Element | undefined;

/**
 * Keeps the focus on the page: if the focused element disappears, for example the row of a removed
 * member, the focus moves to the next row. Without another row, the focus moves to the heading of
 * the section or page. Otherwise browsers move the focus to the body, and keyboard users start
 * again at the top.
 */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return;
    last = target;
    known.set(target, surroundingsOf(target));
  });
  const observer = new MutationObserver(() => {
    if (last === undefined || last.isConnected || !isLost()) return;
    focusNear(last);
  });
  observer.observe(document.body, { childList: true, subtree: true });
}

/** Whether no element has the focus. */
export function isLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Focuses an element that had the focus before, or the place nearest to it that still exists. */
export function focusNear(element: Element): void {
  if (element instanceof HTMLElement && element.isConnected) {
    element.focus();
    if (!isLost()) return;
  }
  const { path, neighbours } = known.get(element) ?? { path: [], neighbours: [] };
  const places = [
    ...neighbours.map((row) => row.querySelector(CONTROLS)),
    ...path.map((ancestor) => ancestor.querySelector('h1, h2')),
    document.querySelector('h1'),
  ];
  const place = places.find((each) => each?.isConnected);
  if (!(place instanceof HTMLElement)) return;
  // A heading takes the focus only by script.
  if (!place.matches(CONTROLS)) place.tabIndex = -1;
  place.focus();
}

const CONTROLS = 'button:not(:disabled), a[href], input:not(:disabled), select:not(:disabled)';

const ROWS = 'tr, li';

function surroundingsOf(element: Element): Surroundings {
  const path: Element[] = [];
  for (let each: Element | null = element; each !== null; each = each.parentElement)
    path.push(each);
  const neighbours: Element[] = [];
  const row = element.closest(ROWS);
  if (row !== null) {
    for (const step of ['nextElementSibling', 'previousElementSibling'] as const) {
      for (let each = row[step]; each !== null; each = each[step]) neighbours.push(each);
    }
  }
  return { path, neighbours };
}
