import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { instanceAddress } from '#pages/fleet/view';
import { Link } from '#view/shell/router';

/** Tabs of an instance's page: name in the address, and title. The first is the default. */
const TABS = [
  ['state', 'State'],
  ['course', 'Course'],
  ['try', 'Try'],
  ['history', 'History'],
  ['connect', 'Connect'],
  ['settings', 'Settings'],
] as const;

/** Name of a tab. */
export type Tab = (typeof TABS)[number][0];

/** Tab that an address names. Unknown names mean the first tab. */
export function tabOf(query: string): Tab {
  const wanted = new URLSearchParams(query).get('tab');
  return TABS.find(([name]) => name === wanted)?.[0] ?? 'state';
}

/** Links to the tabs. `hidden` tabs are not offered. */
export function TabLinks({
  id,
  tab,
  hidden,
}: {
  readonly id: string;
  readonly tab: Tab;
  readonly hidden: readonly Tab[];
}) {
  return (
    <nav class="tabs" aria-label="Parts of the instance">
      <ul>
        {TABS.filter(([name]) => !hidden.includes(name)).map(([name, title]) => (
          <li key={name}>
            <Link
              to={name === 'state' ? instanceAddress(id) : `${instanceAddress(id)}?tab=${name}`}
              isCurrent={name === tab}
            >
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/**
 * Content of a tab, created when the tab is first shown. A hidden tab keeps its form texts, scroll
 * position and data, but renders no changes.
 */
export function KeptTab({
  isShown,
  children,
}: {
  readonly isShown: boolean;
  readonly children: () => ComponentChildren;
}) {
  const last = useRef<ComponentChildren>(null);
  // The same content again makes Preact skip it.
  if (isShown) last.current = children();
  if (last.current === null) return null;
  return (
    <div class="tab" hidden={!isShown}>
      {last.current}
    </div>
  );
}
